/** The steps that one call adds to its trace: its own rows, and what it completes of earlier steps. */

import type { PermissionVerdict } from '../harness/harness.ts';
import type { PriceOf } from '../price/prices.ts';
import { formatNamed } from '../provider/formats.ts';
import type { CallPosition } from './call-position.ts';
import { callStatus } from './call-status.ts';
import type { LinkRow, SpanRow } from './changes.ts';
import { forkedFrom, headHash } from './heads.ts';
import { verdictOf } from './shadow.ts';
import { agentSpan, eventSpan, link, llmSpan, modelOf, threadSpan } from './spans.ts';
import type { FailedCall, PendingTool, SessionState } from './state.ts';
import { type DeliveredResult, deliveredResults, mostSteps, type RequestedTool, requestedTools } from './tools.ts';
import type { CallTurn } from './turn.ts';
import type { CallSpend } from './usage-sums.ts';

export type CallSteps = {
  spans: SpanRow[]; // in walk order: root, the thread's, injected context, the call, its tools
  llm: SpanRow;
  requested: RequestedTool[];
  tool_calls: number; // including those that have no span
  waiting: SpanRow[]; // the requested tools without a result
  delivered: DeliveredResult[];
  verdict: PermissionVerdict | null; // of a permission check
  retried: FailedCall | undefined; // the failed call that this one retries
  links: LinkRow[];
  spent: CallSpend;
};

/** @param turn with its thread (`attributed`) @param place where the call was placed */
export function callSteps(state: SessionState, turn: CallTurn, place: CallPosition, priceOf: PriceOf): CallSteps {
  const { trace, agent, tool } = place;
  const { trace_id } = trace.row;
  const under = { trace_id, parent_span_id: place.parent_span_id };
  const { kind, reply } = turn;
  const model = modelOf(turn);
  const usage = reply?.usage ?? null;
  const terms = reply && formatNamed(turn.format)?.terms(reply);
  const priced = usage && priceOf(turn.provider, model, turn.requested_at, usage, terms ?? undefined);

  let seq = trace.next_seq;
  const root =
    trace.next_seq === 0 ? [agentSpan(turn, { trace_id, parent_span_id: null, seq: seq++ }, trace.root_span_id)] : [];
  const thread =
    agent && !state.agents.includes(agent)
      ? [threadSpan(turn, { trace_id, parent_span_id: agent.parent_span_id, seq: seq++ }, agent)]
      : [];
  const injected = turn.fresh.filter((message) => message.injected !== '');
  const events = injected
    .slice(0, mostSteps(turn))
    .map((message) => eventSpan(turn, { ...under, seq: seq++ }, message));
  const verdict = verdictOf(turn);
  const own = { ...under, seq: seq++ };
  const { requested, omitted, output } = requestedTools(turn, under, seq);
  const llm = llmSpan(turn, own, {
    status: callStatus(turn),
    priced,
    output,
    verdict,
    tool_calls_omitted: omitted,
    events_omitted: injected.length - events.length,
  });
  const delivered = deliveredResults(turn, trace.n, state.pending);
  const retried = state.failed.findLast(({ tip, n }) => n === trace.n && tip === tipOf(turn));
  return {
    llm,
    requested,
    delivered,
    verdict,
    retried,
    spans: [...root, ...thread, ...events, llm, ...requested.map(({ span }) => span)],
    tool_calls: requested.length + omitted,
    waiting: requested.flatMap(({ span, result }) => (result === null ? [span] : [])),
    links: linksOf(state, turn, place, { llm, requested, delivered, retried, tool: tool && verdict && tool }),
    spent: {
      kind,
      model: model || 'unknown',
      usage,
      cost_usd: priced?.usd ?? null,
      price: priced?.price ?? null,
      inherited_from: turn.inherited_from ?? null,
    },
  };
}

/** How many of a call and the tools that ran within it failed. */
export const errorsIn = (llm: SpanRow, requested: readonly RequestedTool[]): number =>
  [llm, ...requested.map(({ span }) => span)].filter(({ status }) => status === 'error').length;

function linksOf(
  state: SessionState,
  turn: CallTurn,
  { trace, seam }: CallPosition,
  {
    llm,
    requested,
    delivered,
    retried,
    tool,
  }: Pick<CallSteps, 'llm' | 'requested' | 'delivered' | 'retried'> & { tool: PendingTool | null },
): LinkRow[] {
  const { trace_id } = trace.row;
  const goesBack = turn.kind === 'main' && !retried && !seam ? forkedFrom(state, turn) : null;
  const own = { trace_id, span_id: llm.span_id };
  return [
    ...requested.map(({ span }) => link('emits', turn, { ...own, io: 'output' }, { ...span, io: 'input' })),
    ...delivered
      .filter(({ isInput }) => isInput)
      .map(({ tool }) => link('feeds', turn, { ...spanRef(state, tool), io: 'output' }, { ...own, io: 'input' })),
    ...(tool ? [link('verdict', turn, { ...own, io: 'output' }, { ...spanRef(state, tool), io: 'verdict' })] : []),
    ...(seam ? [link('compaction-seam', turn, { ...seam, io: 'output' }, { ...own, io: 'input' })] : []),
    ...(retried ? [link('retry-of', turn, { ...own, io: '' }, { ...retried, trace_id, io: '' })] : []),
    ...(goesBack ? [link('fork-of', turn, { ...own, io: '' }, { ...spanRef(state, goesBack), io: '' })] : []),
  ];
}

/** The call's last message, which a retry would repeat. */
export const tipOf = ({ tip_hash }: CallTurn): string | null => (tip_hash === null ? null : headHash(tip_hash));

/** The ids of a span that the state remembers, which it does only while the span's trace is live. */
export const spanRef = (
  { live }: SessionState,
  { n, span_id }: { n: number; span_id: string },
): { trace_id: string; span_id: string } => ({
  trace_id: live.find((trace) => trace.n === n)?.row.trace_id ?? '',
  span_id,
});
