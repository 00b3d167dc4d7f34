import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { SpanRow } from '../../../core/derive/changes.ts';
import { retainedCheckpoints } from '../../../core/derive/checkpoint.ts';
import { compareKeys } from '../../../core/derive/order.ts';
import { answer, assistant, type Call, toolResult, toolUse, user } from '../../support/call-turn.ts';
import { arriving, derive, dump, nothing } from '../../support/fold-store.ts';
import { generatedAgents } from '../../support/generated-agents.ts';
import { generatedCalls } from '../../support/generated-calls.ts';

const test = suite('order of calls');

test('from scratch, call by call and in any order of arrival, the rows are the same', async () => {
  await fc.assert(
    fc.property(
      generatedCalls({ maxLength: 40 }),
      fc.array(fc.nat({ max: 30 }), { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 7 }),
      (calls, order, batch) => {
        const whole = dump(arriving(calls, [0], calls.length));
        assert.equal(dump(arriving(calls, [0], 1)), whole);
        assert.equal(dump(arriving(calls, order, batch)), whole);
      },
    ),
    { numRuns: 150 },
  );
});

test('with agents that start agents: from scratch, call by call and in any order of arrival, the rows are the same', async () => {
  await fc.assert(
    fc.property(
      generatedAgents({ maxLength: 50 }),
      fc.array(fc.nat({ max: 30 }), { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 7 }),
      ({ calls, evidence }, order, batch) => {
        const whole = dump(arriving(calls, [0], calls.length, evidence));
        assert.equal(dump(arriving(calls, [0], 1, evidence)), whole);
        assert.equal(dump(arriving(calls, order, batch, evidence)), whole);
      },
    ),
    { numRuns: 100 },
  );
});

test('parents stand in the same trace, numbers have no gap, and a tool has at most two verdicts', async () => {
  await fc.assert(
    fc.property(generatedAgents({ maxLength: 60 }), ({ calls, evidence }) => {
      const { traces, spans, links, rollup } = arriving(calls, [0], calls.length, evidence);
      const ids = new Set([...spans.values()].map(({ trace_id, span_id }) => `${trace_id} ${span_id}`));
      for (const span of spans.values()) {
        assert.ok(span.parent_span_id === null || ids.has(`${span.trace_id} ${span.parent_span_id}`));
        assert.is(rootOf(span, spans), true, 'every span hangs below its root');
      }
      for (const trace of traces.values()) {
        const own = [...spans.values()].filter((span) => span.trace_id === trace.trace_id);
        assert.equal(
          own.map(({ seq }) => seq).sort((a, b) => a - b),
          own.map((_, i) => i),
        );
        assert.is(own.length, trace.span_count);
        assert.is(own.filter(hasFailed).length, trace.error_count);
        assert.is(own.filter(({ parent_span_id }) => parent_span_id === null).length, 1);
      }
      const verdicts = new Map<string, number>();
      for (const link of links.values()) {
        assert.ok(
          ids.has(`${link.from_trace_id} ${link.from_span_id}`) && ids.has(`${link.to_trace_id} ${link.to_span_id}`),
        );
        if (link.kind === 'verdict') verdicts.set(link.to_span_id, (verdicts.get(link.to_span_id) ?? 0) + 1);
      }
      assert.ok([...verdicts.values()].every((count) => count <= 2));
      const counted = Object.values(rollup?.kind_counts ?? {}).reduce((all, count) => all + count, 0);
      assert.is(counted, [...spans.values()].filter(({ kind }) => kind === 'llm').length);
      assert.is(counted, calls.length);
      assert.is([...spans.values()].filter(hasFailed).length, rollup?.error_count);
    }),
    { numRuns: 100 },
  );
});

/** An agent's span only repeats the outcome of its calls. */
const hasFailed = ({ kind, status }: SpanRow) => kind !== 'agent' && status === 'error';

const rootOf = (span: SpanRow, spans: ReadonlyMap<string, SpanRow>): boolean => {
  let at: SpanRow | undefined = span;
  for (let steps = 0; at?.parent_span_id && steps <= spans.size; steps++)
    at = spans.get(`${at.trace_id} ${at.parent_span_id}`);
  return at?.parent_span_id === null;
};

test('each token is counted once, whatever joins what', async () => {
  await fc.assert(
    fc.property(generatedCalls({ maxLength: 40 }), (calls) => {
      const { traces, spans, rollup } = arriving(calls, [0], calls.length);
      const sum = (of: Iterable<{ input_tokens: number }>) => [...of].reduce((all, row) => all + row.input_tokens, 0);
      assert.is(sum(traces.values()), rollup?.input_tokens);
      assert.is(sum(spans.values()), rollup?.input_tokens);
      for (const trace of traces.values()) {
        const own = [...spans.values()].filter((span) => span.trace_id === trace.trace_id);
        assert.is(own.length, trace.span_count);
        assert.equal(
          own.map(({ seq }) => seq).sort((a, b) => a - b),
          own.map((_, i) => i),
        );
      }
    }),
    { numRuns: 100 },
  );
});

test('a late call replays a few calls, not all that went before', () => {
  const calls = Array.from(
    { length: 600 },
    (_, i): Call => ({
      at: i,
      call_id: `c${i}`,
      raw_turn_id: i + 1,
      says: [{ role: 'user', content: [], injected: '' }],
    }),
  );
  const store = nothing();
  derive(store, calls.slice(0, 500), calls.slice(0, 500));
  const late: Call = { at: 490.5, call_id: 'late', raw_turn_id: 1000 };
  assert.ok(derive(store, [...calls.slice(0, 500), late], [late]) <= 24);
  assert.is(derive(store, [...calls.slice(0, 501), late], calls.slice(500, 501)), 1, 'and a call in order none');
  const old: Call = { at: 10.5, call_id: 'old', raw_turn_id: 1001 };
  assert.is(derive(store, [...calls.slice(0, 501), late, old], [old]), 503, 'one from the beginning replays all');
});

test('a result that a late call takes away from a tool leaves it open again', () => {
  const ask = (at: number, words: string): Call => ({ at, says: [user(words)], answers: answer(toolUse('same')) });
  const bring = (at: number, words: string): Call => ({
    at,
    says: [user(words), assistant(toolUse('same')), user(toolResult('same', `of ${words}`))],
    answers: answer('Ok'),
  });
  const others = (from: number): Call[] =>
    Array.from({ length: 10 }, (_, i) => ({ at: from + i, says: [user(`Other ${from + i}`)], answers: answer('Ok') }));
  // The first tool gets the second one's result as long as the second one is not known.
  const calls = [ask(0, 'first'), ...others(10), ask(30, 'second'), ...others(40), bring(60, 'second')].map(
    (call, i) => ({
      ...call,
      call_id: `c${i}`,
      raw_turn_id: i + 1,
    }),
  );
  const late = calls.findIndex(({ at }) => at === 30);
  const store = arriving(
    calls,
    calls.map((_, i) => (i === late ? 1 : 0)),
    calls.length - 1,
  );
  assert.equal(dump(store), dump(arriving(calls, [0], calls.length)));
  const tools = [...store.spans.values()].filter(({ kind }) => kind === 'tool');
  assert.equal(tools.map(({ output }) => output.length).sort(), [0, 1]);
});

test('checkpoints: dense near the end, few in all, and once gone they stay gone', () => {
  assert.equal(retainedCheckpoints(7, 'wire'), []);
  assert.equal(retainedCheckpoints(16, 'wire'), [8, 16]);
  assert.equal(retainedCheckpoints(72, 'wire'), [16, 32, 48, 56, 64, 72]);
  assert.equal(retainedCheckpoints(72, 'transcripts'), [32, 48, 64, 72]);
  for (const [source, most] of [
    ['wire', 40],
    ['transcripts', 20],
  ] as const) {
    let before = new Set<number>();
    for (let turns = 1; turns <= 3_000; turns++) {
      const kept = retainedCheckpoints(turns, source);
      assert.ok(
        kept.every((n) => before.has(n) || n === turns),
        `${source}, at ${turns}`,
      );
      assert.ok(kept.length <= most);
      before = new Set(kept);
    }
  }
});

test('ties in time are ordered by the bytes of the id, as the database orders them', () => {
  const at = '2026-11-21T09:00:00.000000Z';
  const ids = ['B', 'a', 'é', '\u{1F600}', '\uFFFD', 'A'];
  const sorted = ids
    .map((call_id) => ({ requested_at: at, call_id }))
    .sort(compareKeys)
    .map(({ call_id }) => call_id);
  assert.equal(sorted, ['A', 'B', 'a', 'é', '\uFFFD', '\u{1F600}']);
});

test.run();
