/** The total bill: one bill, read from every resource of the read API that reports one. */
import * as assert from 'uvu/assert';
import type { Database } from '../../core/db/database.ts';
import { addUsd } from '../../core/price/money.ts';
import { type Json, testApi } from './read-api.ts';

/** `usd`: of the priced calls, exact; null when none is. `unpriced`: models, sorted. */
export type Bill = {
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
  reasoning: number;
  usd: string | null;
  unpriced: string[];
};

export const nothingBilled: Bill = {
  ...{ input: 0, output: 0, cache_read: 0, cache_write: 0, reasoning: 0 },
  ...{ usd: null, unpriced: [] },
};

/** What stats leave out of the bill, where an answer has no message of its own. */
export type LeftOut = { input: number; output: number; usd: string };

/**
 * The sessions' rollups, their rows by model, their traces and their LLM spans each add up to this bill, and no other span has tokens.
 * @param leftOut of stats
 */
export async function assertBilled(
  { execute }: Pick<Database, 'execute'>,
  bill: Bill & { sessions: number; calls: number },
  leftOut: LeftOut = { input: 0, output: 0, usd: '0' },
  message = '',
): Promise<void> {
  const api = testApi({ execute });
  const get = async (path: string): Promise<Json> => {
    const response = await api.request(path);
    assert.is(response.status, 200, path);
    return response.json();
  };
  const { sessions, calls, ...expected } = bill;
  const { items } = await get('/v1/sessions?limit=200');
  assert.is(items.length, sessions, `${message}: sessions`);
  const totals = { session: nothingBilled, traces: nothingBilled, spans: nothingBilled };
  const models = { calls: 0, input: 0, output: 0, usd: null as string | null };
  const counted = { kinds: 0, spans: 0 };
  for (const { id } of items) {
    const { session, traces } = await get(`/v1/sessions/${id}/traces`);
    assert.equal(session, (await get(`/v1/sessions/${id}`)).session);
    const { usage, model_usage = [], kind_counts } = session.rollup;
    const spans = traces.flatMap((one: Json) => one.spans);
    const billed = spans.filter(({ kind }: Json) => kind === 'llm');
    const here = {
      session: billOf(usage),
      traces: sum(traces.map(({ trace }: Json) => billOf(trace.usage))),
      spans: sum(billed.map(spanBill)),
    };
    assert.equal(here.traces, here.session, `${message}: the traces of a session come to what it says`);
    assert.equal(here.spans, here.session, `${message}: so do its spans`);
    assert.equal(
      sum(spans.filter(({ kind }: Json) => kind !== 'llm').map(spanBill)),
      nothingBilled,
      `${message}: only calls are billed`,
    );
    for (const level of ['session', 'traces', 'spans'] as const) totals[level] = plus(totals[level], here[level]);
    for (const row of model_usage) {
      models.calls += row.calls;
      models.input += row.input_tokens;
      models.output += row.output_tokens;
      models.usd = plusUsd(models.usd, usdIn(row.cost_usd));
    }
    counted.kinds += Object.values<number>(kind_counts).reduce((all, count) => all + count, 0);
    counted.spans += billed.length;
  }
  const { input, output, usd } = expected;
  assert.equal(totals, { session: expected, traces: expected, spans: expected }, message);
  assert.equal(models, { calls, input, output, usd }, `${message}: by model`);
  assert.equal(counted, { kinds: calls, spans: calls }, `${message}: calls`);

  const { total_cost, input_tokens, output_tokens, unpriced_models } = await get('/v1/stats');
  assert.equal(
    {
      input: input_tokens + leftOut.input,
      output: output_tokens + leftOut.output,
      usd: addUsd(String(total_cost), leftOut.usd),
      unpriced: unpriced_models,
    },
    { input, output, usd: usd ?? '0', unpriced: expected.unpriced },
    `${message}: stats`,
  );
}

/** A cost that is shown as a number; its decimals are few enough to be exact. */
const usdIn = (cost: number | null): string | null => (cost === null ? null : addUsd(String(cost), '0'));
const plusUsd = (one: string | null, other: string | null): string | null =>
  one === null || other === null ? (one ?? other) : addUsd(one, other);

const billOf = (usage: Json): Bill => ({
  input: usage.input_tokens,
  output: usage.output_tokens,
  cache_read: usage.cache_read_tokens,
  cache_write: usage.cache_write_tokens,
  reasoning: usage.reasoning_tokens,
  usd: usdIn(usage.cost_usd),
  unpriced: usage.unpriced_models,
});

const spanBill = ({ usage, model }: Json): Bill => ({
  ...billOf({
    ...usage,
    cache_write_tokens: usage.cache_write_5m_tokens + usage.cache_write_1h_tokens,
    unpriced_models: usage.cost_usd === null && usage.input_tokens + usage.output_tokens > 0 ? [model] : [],
  }),
});

const sum = (bills: readonly Bill[]): Bill => bills.reduce(plus, nothingBilled);
const plus = (one: Bill, other: Bill): Bill => ({
  input: one.input + other.input,
  output: one.output + other.output,
  cache_read: one.cache_read + other.cache_read,
  cache_write: one.cache_write + other.cache_write,
  reasoning: one.reasoning + other.reasoning,
  usd: plusUsd(one.usd, other.usd),
  unpriced: [...new Set([...one.unpriced, ...other.unpriced])].sort(),
});
