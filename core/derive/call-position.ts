/** The place of a call: the trace that it belongs to, and the parent span of its steps there. */
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

export type CallPosition = {
  trace: LiveTrace; // as it was before the call; a trace without steps is opened by the call
  parent_span_id: SpanPatch['span_id']; // of the call's own steps
  agent: Agent | null; // of a sub-agent's call, as it was before
  tool: PendingTool | null; // the tool that a call beside the conversation judges or serves
  seam: Compaction | null; // the compaction that the call continues from
};

/** @param turn with its thread: `attributed` */
export function placeCall(state: SessionState, turn: CallTurn, evidence: TranscriptEvidence): CallPosition {
  if (turn.kind !== 'main') return besideConversation(state, turn);
  return turn.thread_id === '' ? inConversation(state, turn) : inThread(state, turn, evidence);
}

/**
 * A person's new prompt opens a trace; so does the first call after a compaction. Any other call belongs to the trace that it continues,
 * or to the main thread's current one. A trace that only has calls beside the conversation becomes that of the next main call.
 */
function inConversation(state: SessionState, turn: CallTurn): CallPosition {
  const { compacted } = state;
  const seam = compacted && isCompacted(compacted, turn) ? compacted : null;
  if (seam) return inTrace(openedTrace(state, turn, 'post-compaction', promptAfter(seam, turn)), { seam });
  const hasPrompt = genuinePrompts(turn).length > 0;
  const continued = hasPrompt ? undefined : liveTrace(state, headOf(state, turn)?.n ?? null);
  const current = continued ?? liveTrace(state, state.current);
  if (current && (!hasPrompt || !current.led)) return inTrace(current.led ? current : adopted(current, turn));
  return inTrace(openedTrace(state, turn, '', preview(promptOf(turn))));
}

const adopted = (trace: LiveTrace, turn: CallTurn): LiveTrace => ({
  ...trace,
  row: { ...trace.row, synthetic: '', user_prompt: preview(promptOf(turn)) },
});

/** What a person wrote besides the summary. */
function promptAfter(seam: Compaction, turn: CallTurn): string {
  const prompt = genuinePrompts(turn).findLast((message) => !isSummary(seam, message));
  return prompt ? preview(promptText(prompt.content)) : '';
}

/** In the trace in which the thread already works, else that in which it was started, else the conversation's current one. */
function inThread(state: SessionState, turn: CallTurn, evidence: TranscriptEvidence): CallPosition {
  const known = agentOf(state, turn.thread_id);
  const { who, spawn } = known ? { who: known, spawn: null } : newThread(state, turn, evidence);
  const trace = liveTrace(state, known?.n ?? spawn?.n ?? state.current) ?? openedBeside(state, turn);
  const agent = known ?? newAgent(who, turn, trace, spawn);
  return { ...inTrace(trace), agent, parent_span_id: agent.span_id };
}

function besideConversation(state: SessionState, turn: CallTurn): CallPosition {
  const tool = servedTool(state, turn);
  const trace = liveTrace(state, tool ? tool.n : state.current) ?? openedBeside(state, turn);
  return { ...inTrace(trace), tool, parent_span_id: tool?.span_id ?? trace.root_span_id };
}

const inTrace = (trace: LiveTrace, { seam = null }: { seam?: Compaction | null } = {}): CallPosition => ({
  ...{ trace, seam, parent_span_id: trace.root_span_id },
  ...{ agent: null, tool: null },
});

const openedBeside = (state: SessionState, turn: CallTurn) => openedTrace(state, turn, 'shadow-opener', '');

const liveTrace = ({ live }: SessionState, n: number | null): LiveTrace | undefined =>
  n === null ? undefined : live.find((trace) => trace.n === n);
