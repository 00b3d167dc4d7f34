/** A call's context as the API answers with it. */
import type { ReadContext } from '../engine/prompt/read-context.ts';
import { modelOf } from '../engine/prompt/walk-prompts.ts';
import type { CallContext, ContextBlock } from '../model/call-context.ts';
import { contextWindow } from '../price/prices.ts';
import { billedAs } from '../prompt/billed-as.ts';
import { diffPrompts } from '../prompt/diff-prompts.ts';
import type { Prompt, PromptBlock, PromptParameter } from '../prompt/prompt.ts';

type SpanOf = (block: PromptBlock) => ContextBlock['span'];

export function callContext(read: ReadContext, spanOf: SpanOf): CallContext {
  const { call, prompt, tokens, since } = read;
  const usage = call.span?.usage ?? null;
  const billed = billedAs(tokens, usage);
  const model = modelOf(call);
  const diff = read.against && diffPrompts(read.against.prompt.blocks, prompt.blocks);
  return {
    raw_turn_id: call.raw_turn_id,
    session_id: call.session_id,
    thread_id: call.thread_id,
    model,
    provider: call.provider,
    reach: prompt.reach,
    window_tokens: windowTokens(call.provider, model, call.requested_at, usage?.input_tokens ?? 0),
    usage: usage && {
      input_tokens: usage.input_tokens,
      cache_read_tokens: usage.cache_read_tokens,
      cache_write_5m_tokens: usage.cache_write_5m_tokens,
      cache_write_1h_tokens: usage.cache_write_1h_tokens,
      output_tokens: usage.output_tokens,
      cost_usd: usage.cost_usd,
    },
    unattributed_tokens: tokens.unattributed_tokens,
    parameters: parametersOf(prompt, read.against?.prompt ?? null),
    marks: prompt.blocks.flatMap(({ mark }, block) => (mark === null ? [] : [{ block, ttl: mark }])),
    blocks: prompt.blocks.map((block, n) => ({
      ...blockFacts(block, n),
      ...(tokens.shares[n] ?? { tokens: null, basis: 'none' as const }),
      billed_as: billed[n] ?? null,
      since: since.get(block.id) ?? null,
      span: spanOf(block),
    })),
    against: read.against &&
      diff && {
        raw_turn_id: read.against.raw_turn_id,
        common: diff.common,
        common_tokens: usage && sum(tokens.shares.slice(0, diff.common).map((share) => share.tokens ?? 0)),
        blocks: read.against.prompt.blocks.map(blockFacts),
        changes: diff.changes.map((change) =>
          change.op !== 'change'
            ? change
            : { op: change.op, before: change.before, after: change.after, path: change.path, ...placeIn(change.at) },
        ),
      },
    break: read.break,
  };
}

const placeIn = (at: number | null) => (at === null ? {} : { at });

const blockFacts = ({ id, section, path, role, kind, label, bytes }: PromptBlock, n: number) => ({
  ...{ n, id, section, path, role, kind, label, bytes },
});

/** Where more was sent than fits into the window of the list, the model was used with a larger one. */
function windowTokens(provider: string, model: string, at: string, input_tokens: number): number | null {
  const window = contextWindow(provider, model, at);
  return window !== null && input_tokens > window ? null : window;
}

/** Those of this call, then those that only the other has. */
function parametersOf({ parameters }: Prompt, other: Prompt | null): CallContext['parameters'] {
  if (!other) return parameters.map(({ name, value }) => ({ name, value, same: null }));
  const valueIn = (list: readonly PromptParameter[], name: string) => list.find((one) => one.name === name)?.value;
  return [
    ...parameters.map(({ name, value }) => ({ name, value, same: valueIn(other.parameters, name) === value })),
    ...other.parameters
      .filter(({ name }) => valueIn(parameters, name) === undefined)
      .map(({ name }) => ({ name, value: '', same: false })),
  ];
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
