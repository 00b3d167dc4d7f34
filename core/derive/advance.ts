/** The fold of derivation: what one more call changes. Pure, and of the same cost at the thousandth call as at the first. */

import { type PriceOf, priceOf as publishedPrice } from '../price/prices.ts';
import { agentTotalsWith } from './agent-totals.ts';
import { placeCall } from './call-position.ts';
import { type CallSteps, callSteps, errorsIn, spanRef } from './call-steps.ts';
import type { ProjectionChanges, SpanPatch } from './changes.ts';
import { noEvidence, type TranscriptEvidence } from './evidence.ts';
import { later } from './instants.ts';
import { lasting, rootPatch, withResults } from './live-trace.ts';
import { nextState } from './next-state.ts';
import { preview, textOf } from './prompt.ts';
import { LIMITS, type LiveTrace, newest, type SessionState } from './state.ts';
import { attributed, threadsAfter } from './threads.ts';
import { rollupOf, traceWith } from './totals.ts';
import type { CallTurn } from './turn.ts';

/** What the fold looks up outside the session; passed in, so that the fold stays pure. */
export type FoldInputs = { priceOf?: PriceOf | undefined; evidence?: TranscriptEvidence | undefined };

/**
 * Folds one call. Calls come in the order of `compareKeys`; then the rows are the same however often and in whatever
 * batches a session is folded. Returns a new state and never changes the old one; a state is JSON and bounded.
 */
export function advance(
  state: SessionState,
  recorded: CallTurn,
  { priceOf = publishedPrice, evidence = noEvidence }: FoldInputs = {},
): { state: SessionState; changes: ProjectionChanges } {
  const { turn, guessed } = attributed(state, recorded, evidence);
  const place = placeCall(state, turn, evidence);
  const steps = callSteps(state, turn, place, priceOf);
  const own = withResults(withSteps(place.trace, turn, steps, place.agent === null), steps.delivered);
  // A result may belong to a tool of another trace, which then lasts until this call too.
  const others = state.live.filter(({ n }) => n !== own.n);
  const completed = others.map((trace) => withResults(trace, steps.delivered));
  const changed = [...completed.filter((trace, i) => trace !== others[i]), own];

  const threads = threadsAfter(state, turn, { trace: own, own: place.agent, steps });
  const live = newest([...completed, own], LIMITS.live);
  const next = nextState(state, turn, { place, steps, threads, own, live, guessed });
  return {
    state: next,
    changes: {
      traces: changed.map(({ row }) => row),
      spans: steps.spans,
      patches: [
        ...resultPatches(state, steps),
        ...threads.patches,
        ...verdictPatch(state, place.tool, steps),
        ...changed.map(rootPatch),
      ],
      links: [...steps.links, ...threads.links],
      dropped: [],
      rollup: rollupOf(next, evidence),
    },
  };
}

const resultPatches = (state: SessionState, { delivered }: CallSteps): SpanPatch[] =>
  delivered.map(({ tool, result }) => ({ ...spanRef(state, tool), ...result }));

const verdictPatch = (
  state: SessionState,
  tool: { n: number; span_id: string } | null,
  { verdict }: CallSteps,
): SpanPatch[] => (tool && verdict ? [{ ...spanRef(state, tool), verdict }] : []);

/**
 * The call's trace with the call's own steps. The trace's status is that of the conversation's last call in it: a failure does not
 * count once a retry succeeded, nor does the failure of a call beside the conversation.
 */
function withSteps(
  trace: LiveTrace,
  turn: CallTurn,
  { spans, llm, requested, spent, tool_calls }: CallSteps,
  ofRoot: boolean,
): LiveTrace {
  const ends = [llm, ...requested.map(({ span }) => span)].map(({ ended_at }) => ended_at);
  const leads = turn.kind === 'main' && turn.thread_id === '';
  const responsePreview = leads ? preview(textOf(llm.output).trim()) : '';
  const row = {
    ...traceWith(trace.row, spent),
    source: turn.kind === 'main' && turn.source === 'transcript' ? turn.source : trace.row.source,
    status: leads || !trace.led ? llm.status : trace.row.status,
    response_preview: responsePreview || trace.row.response_preview,
    span_count: trace.row.span_count + spans.length,
    tool_calls: trace.row.tool_calls + tool_calls,
    error_count: trace.row.error_count + errorsIn(llm, requested),
  };
  return {
    ...trace,
    led: trace.led || leads,
    next_seq: trace.next_seq + spans.length,
    totals: ofRoot ? agentTotalsWith(trace.totals, spent, tool_calls) : trace.totals,
    row: lasting(row, ends.reduce(later, null)),
  };
}
