/** Which trace does a call belong to, and what does it stand under there? */
import type { SpanPatch } from './changes.ts';
import { isCompacted, isSummary } from './compaction.ts';
import type { TranscriptEvidence } from './evidence.ts';
import { headOf } from './heads.ts';
import { openedTrace } from './live-trace.ts';
import { genuinePrompts, preview, promptOf, promptText } from './prompt.ts';
import { servedTool } from './shadow.ts';
import type { Agent, Compaction, LiveTrace, PendingTool, SessionState } from './state.ts';
import { agentOf, newAgent, newThread } from './threads.ts';
import type { CallTurn } from './turn.ts';

export type CallPlace = {
  trace: LiveTrace; // as it was before the call; one with no step yet is opened by it
  parent_span_id: SpanPatch['span_id']; // of the call's own steps
  agent: Agent | null; // of a sub-agent's call, as it was before
  tool: PendingTool | null; // what a call beside the conversation is for
  seam: Compaction | null; // from which the call goes on
};

/** @param turn as its thread's: `attributed` */
export function placeCall(state: SessionState, turn: CallTurn, evidence: TranscriptEvidence): CallPlace {
  if (turn.kind !== 'main') return besideConversation(state, turn);
  return turn.thread_id === '' ? inConversation(state, turn) : inThread(state, turn, evidence);
}

/**
 * A person's fresh words open a trace; so does the first call after a compaction. Else the trace that the call goes on from is taken,
 * or the main thread's current one. A trace that only calls beside the conversation have opened becomes that of the next main call.
 */
function inConversation(state: SessionState, turn: CallTurn): CallPlace {
  const { compacted } = state;
  const seam = compacted && isCompacted(compacted, turn) ? compacted : null;
  if (seam) return inTrace(openedTrace(state, turn, 'post-compaction', promptAfter(seam, turn)), { seam });
  const asks = genuinePrompts(turn).length > 0;
  const goesOn = asks ? undefined : liveTrace(state, headOf(state, turn)?.n ?? null);
  const current = goesOn ?? liveTrace(state, state.current);
  if (current && (!asks || !current.led)) return inTrace(current.led ? current : adopted(current, turn));
  return inTrace(openedTrace(state, turn, '', preview(promptOf(turn))));
}

const adopted = (trace: LiveTrace, turn: CallTurn): LiveTrace => ({
  ...trace,
  row: { ...trace.row, synthetic: '', user_prompt: preview(promptOf(turn)) },
});

/** What a person said besides the summary. */
function promptAfter(seam: Compaction, turn: CallTurn): string {
  const said = genuinePrompts(turn).findLast((message) => !isSummary(seam, message));
  return said ? preview(promptText(said.content)) : '';
}

/** Where the thread works already, else where it was started, else where the conversation is. */
function inThread(state: SessionState, turn: CallTurn, evidence: TranscriptEvidence): CallPlace {
  const known = agentOf(state, turn.thread_id);
  const { who, spawn } = known ? { who: known, spawn: null } : newThread(state, turn, evidence);
  const trace = liveTrace(state, known?.n ?? spawn?.n ?? state.current) ?? openedBeside(state, turn);
  const agent = known ?? newAgent(who, turn, trace, spawn);
  return { ...inTrace(trace), agent, parent_span_id: agent.span_id };
}

function besideConversation(state: SessionState, turn: CallTurn): CallPlace {
  const tool = servedTool(state, turn);
  const trace = liveTrace(state, tool ? tool.n : state.current) ?? openedBeside(state, turn);
  return { ...inTrace(trace), tool, parent_span_id: tool?.span_id ?? trace.root_span_id };
}

const inTrace = (trace: LiveTrace, { seam = null }: { seam?: Compaction | null } = {}): CallPlace => ({
  ...{ trace, seam, parent_span_id: trace.root_span_id },
  ...{ agent: null, tool: null },
});

const openedBeside = (state: SessionState, turn: CallTurn) => openedTrace(state, turn, 'shadow-opener', '');

const liveTrace = ({ live }: SessionState, n: number | null): LiveTrace | undefined =>
  n === null ? undefined : live.find((trace) => trace.n === n);
