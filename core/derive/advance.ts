/** What does one more call change? The fold of derivation: pure, and of the same cost at the thousandth call as at the first. */

import { type CallSteps, callSteps, tipOf, traceOf } from './call-steps.ts';
import type { Changes, SpanPatch } from './changes.ts';
import { later } from './instants.ts';
import { lasting, openedTrace, rootPatch, withResults } from './live-trace.ts';
import { keyOf } from './order.ts';
import { headsOf, placeCall } from './place-call.ts';
import { type PriceOf, priceOf } from './prices.ts';
import { preview, textOf } from './prompt.ts';
import { LIMITS, type LiveTrace, newest, type SessionState } from './state.ts';
import { rollupOf, toldBy, totalsWith, traceWith, withTools } from './totals.ts';
import type { CallTurn } from './turn.ts';

/**
 * Takes in one call. Calls come in the order of `compareKeys`; then the rows are the same however often and in whatever
 * pieces a session is folded. The state is returned anew, never changed; it is JSON and bounded.
 * @param prices what the fold looks up outside the session, given so that it stays pure
 */
export function advance(
  state: SessionState,
  turn: CallTurn,
  prices: PriceOf = priceOf,
): { state: SessionState; changes: Changes } {
  const joined = placeCall(state, turn);
  const before = state.live.find(({ n }) => n === joined) ?? openedTrace(state, turn);
  const steps = callSteps(state, turn, before, prices);
  const own = withResults(withSteps(before, steps), steps.brought);
  // A result may come for a tool of another trace: that one lasts until here too.
  const others = state.live.filter(({ n }) => n !== own.n);
  const completed = others.map((trace) => withResults(trace, steps.brought));
  const changed = [...completed.filter((trace, i) => trace !== others[i]), own];

  const next = remembering(state, turn, steps, { own, live: newest([...completed, own], LIMITS.live) });
  const results: SpanPatch[] = steps.brought.map(({ tool, result }) => ({ ...traceOf(state, tool), ...result }));
  return {
    state: next,
    changes: {
      traces: changed.map(({ row }) => row),
      spans: steps.spans,
      patches: [...results, ...changed.map(rootPatch)],
      links: steps.links,
      rollup: rollupOf(next),
    },
  };
}

/** The call's trace with the call's own steps. Its status is that of its last call, so a failure that a retry made good is none. */
function withSteps(trace: LiveTrace, { spans, llm, asked, spent }: CallSteps): LiveTrace {
  const ends = [llm, ...asked.map(({ span }) => span)].map(({ ended_at }) => ended_at);
  const row = {
    ...traceWith(trace.row, spent),
    status: llm.status,
    response_preview: preview(textOf(llm.output).trim()) || trace.row.response_preview,
    span_count: trace.row.span_count + spans.length,
    tool_calls: trace.row.tool_calls + asked.length,
  };
  return { ...trace, next_seq: trace.next_seq + spans.length, row: lasting(row, ends.reduce(later, null)) };
}

/** The state once the call is in. What belongs to a trace that is no longer live is forgotten with it. */
function remembering(
  state: SessionState,
  turn: CallTurn,
  { spans, llm, asked, brought, retried, spent }: CallSteps,
  { own, live }: { own: LiveTrace; live: LiveTrace[] },
): SessionState {
  const kept = new Set(live.map(({ n }) => n));
  const recent = <T extends { n: number }>(list: T[], limit: number) =>
    newest(list, limit).filter(({ n }) => kept.has(n));
  const heads = headsOf(turn, own.n);
  const done = new Set(brought.map(({ tool }) => tool));
  const waiting = asked.filter(({ result }) => result === null).map(({ span }) => span);
  const tip = tipOf(turn);
  const failed = llm.status === 'ok' || tip === null ? [] : [{ tip, n: own.n, span_id: llm.span_id }];
  const results = [...asked.flatMap(({ result }) => result ?? []), ...brought.map(({ result }) => result)];
  const { status, error_type, stop_reason, thread_id } = llm;
  return {
    ...state,
    turns: state.turns + 1,
    last: keyOf(turn),
    live,
    current: recent(
      [...state.current.filter((other) => other.thread_id !== thread_id), { thread_id, n: own.n }],
      LIMITS.current,
    ),
    heads: recent(
      [...state.heads.filter(({ hash }) => heads.every((head) => head.hash !== hash)), ...heads],
      LIMITS.heads,
    ),
    pending: recent(
      [
        ...state.pending.filter((tool) => !done.has(tool)),
        ...waiting.map((span) => ({
          tool_use_id: span.external_id,
          tool_name: span.input[0]?.tool_name ?? '',
          n: own.n,
          span_id: span.span_id,
          started_at: span.started_at,
        })),
      ],
      LIMITS.pending,
    ),
    failed: recent([...state.failed.filter((call) => call !== retried), ...failed], LIMITS.failed),
    leaf: thread_id === '' && spent.kind === 'main' ? { status, error_type, stop_reason } : state.leaf,
    preview: state.preview ?? (own.row.user_prompt || null),
    told: toldBy(state.told, turn),
    totals: {
      ...withTools(totalsWith(state.totals, spent), spans, results),
      trace_count: Math.max(own.n, state.totals.trace_count),
    },
  };
}
