/** Checkpoints: states stored as they were before some call, from which a call that arrives late is replayed. */
import type { ProjectionChanges } from './changes.ts';
import { noEvidence, type TranscriptEvidence } from './evidence.ts';
import { rootPatch } from './live-trace.ts';
import { type CallKey, keyOf } from './order.ts';
import type { SessionState } from './state.ts';
import { agentPatch } from './threads.ts';
import { unanswered } from './tools.ts';
import { rollupOf } from './totals.ts';
import type { CallTurn } from './turn.ts';

/** The state as it was before the call with that key. */
export type Checkpoint = CallKey & { state: SessionState };

const EVERY = 8;
/** Calls over the wire arrive late one by one, since they overlap; those of transcripts arrive in their order, and whole files late. */
const PER_DISTANCE = { wire: 4, transcripts: 2 };

/** A checkpoint before this call, if one is due: every eighth call has one. */
export const checkpointAt = (state: SessionState, turn: CallTurn): Checkpoint | null =>
  state.turns > 0 && state.turns % EVERY === 0 ? { ...keyOf(turn), state } : null;

/**
 * Which checkpoints a session of so many calls retains, by the number of calls they hold: dense near the end, where calls arrive
 * late because they overlap, and sparse far back; their number grows with the logarithm of the calls. A checkpoint that is not
 * retained at some length is not retained at any greater one, so it does not matter in which batches a session was folded.
 */
export function retainedCheckpoints(turns: number, source: keyof typeof PER_DISTANCE): number[] {
  const retained = new Set<number>();
  for (let distance = EVERY; distance <= turns; distance *= 2) {
    const last = Math.floor(turns / distance) * distance;
    for (let i = 0; i < PER_DISTANCE[source] && last - i * distance > 0; i++) retained.add(last - i * distance);
  }
  return [...retained].sort((a, b) => a - b);
}

/**
 * Restores rows to what they were at a checkpoint, provided that the steps of later calls are deleted. Later calls change earlier
 * rows in these ways only, and only while the state remembers them: a live trace and its root span, a tool that waits, a
 * thread's span and its `rejoin` link to the tool that started it.
 */
export function restoredRows(state: SessionState, evidence: TranscriptEvidence = noEvidence): ProjectionChanges {
  const { live, pending, agents } = state;
  const traceIds = new Map(live.map(({ n, row }) => [n, row.trace_id]));
  const traceOf = ({ n }: { n: number }): string => traceIds.get(n) ?? '';
  return {
    traces: live.map(({ row }) => row),
    spans: [],
    patches: [
      ...live.map(rootPatch),
      ...pending.map((tool) => ({
        ...{ trace_id: traceOf(tool), span_id: tool.span_id },
        ...unanswered,
        verdict: tool.verdict,
      })),
      ...agents.map((agent) => agentPatch(agent, traceOf(agent))),
    ],
    links: [],
    dropped: agents
      .filter(({ rejoined }) => !rejoined)
      .map((agent) => ({ kind: 'rejoin', from_trace_id: traceOf(agent), from_span_id: agent.span_id })),
    rollup: rollupOf(state, evidence),
  };
}
