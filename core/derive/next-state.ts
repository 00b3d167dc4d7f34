/** The next state of the fold, once a call is folded. What belongs to a trace that is no longer live is dropped with the trace. */
import { titleIn } from '../harness/harnesses.ts';
import type { CallPosition } from './call-position.ts';
import { type CallSteps, tipOf } from './call-steps.ts';
import { compactionOf } from './compaction.ts';
import { headsAfter } from './heads.ts';
import { keyOf } from './order.ts';
import { cutBytes } from './prompt.ts';
import { actionOf, servedAfter } from './shadow.ts';
import { shapeWith } from './shape.ts';
import { LIMITS, type LiveTrace, newest, type PendingTool, type SessionState } from './state.ts';
import { storable } from './storable.ts';
import { tasksWith, taskTools } from './tasks.ts';
import type { ThreadsAfter } from './threads.ts';
import { factsFrom, totalsWith, withTools } from './totals.ts';
import type { CallTurn } from './turn.ts';

export type Folded = {
  place: CallPosition;
  steps: CallSteps;
  threads: ThreadsAfter;
  own: LiveTrace; // the call's trace, including the call
  live: LiveTrace[]; // including that trace
  guessed: boolean;
};

export function nextState(state: SessionState, turn: CallTurn, folded: Folded): SessionState {
  const { place, steps, threads, own, live, guessed } = folded;
  const { llm, requested, waiting, delivered, retried, spent } = steps;
  const liveNumbers = new Set(live.map(({ n }) => n));
  const hasDropped = state.live.some(({ n }) => !liveNumbers.has(n));
  const recent = <T extends { n: number }>(list: T[], limit: number) =>
    hasDropped ? newest(list, limit).filter(({ n }) => liveNumbers.has(n)) : newest(list, limit);
  const isMain = turn.kind === 'main';
  const leads = isMain && turn.thread_id === '';
  const opens = place.trace.next_seq === 0;
  const tip = tipOf(turn);
  const failed = llm.status === 'ok' || tip === null ? [] : [{ tip, n: own.n, span_id: llm.span_id }];
  const results = [...requested.flatMap(({ result }) => result ?? []), ...delivered.map(({ result }) => result)];
  const { status, error_type, stop_reason } = llm;
  const agents = recent(threads.agents, LIMITS.agents);
  const lost = new Set(threads.agents.slice(0, Math.max(0, threads.agents.length - LIMITS.agents)).map(({ n }) => n));
  return {
    ...state,
    turns: state.turns + 1,
    last: keyOf(turn),
    live: live.map((trace) => (lost.has(trace.n) ? { ...trace, forgot_agents: true } : trace)),
    current: leads || opens ? own.n : state.current,
    agents,
    spawns: recent(threads.spawns, LIMITS.spawns),
    heads: isMain
      ? recent(headsAfter(state, turn, { llm, n: own.n, guessed }), LIMITS.heads)
      : recent(state.heads, LIMITS.heads),
    pending: recent(waitingAfter(state, turn, folded), LIMITS.pending),
    failed: recent([...state.failed.filter((call) => call !== retried), ...failed], LIMITS.failed),
    compacted: compactedAfter(state, turn, steps),
    leaf: leads ? { status, error_type, stop_reason } : state.leaf,
    preview: state.preview ?? firstPrompt(own),
    title: titleOf(turn) ?? state.title,
    tasks: tasksWith(state, turn, delivered),
    tasks_asked: recent(
      [
        ...state.tasks_asked.filter(({ span_id }) => delivered.every(({ tool }) => tool.span_id !== span_id)),
        ...taskTools(state, turn, waiting, own.n),
      ],
      LIMITS.tasks_asked,
    ),
    told: factsFrom(state.told, turn),
    fork_of: leads ? (inheritedFrom(turn) ?? state.fork_of) : state.fork_of,
    totals: {
      ...(turn.inherited_from === undefined
        ? withTools(totalsWith(state.totals, spent), steps.spans, results)
        : totalsWith(state.totals, spent)),
      shape:
        leads && turn.inherited_from === undefined && spent.usage
          ? shapeWith(state.totals.shape, spent.usage.input_tokens)
          : state.totals.shape,
      trace_count: Math.max(own.n, state.totals.trace_count),
    },
  };
}

/** The other session that the call is inherited from, or null; a call that two files of this session hold is no history. */
const inheritedFrom = ({ session_id, inherited_from }: CallTurn): string | null =>
  inherited_from === undefined || inherited_from === session_id ? null : inherited_from;

/** The tools that wait for a result. A call beside the conversation gets no results back, so its tools do not wait. */
function waitingAfter(
  state: SessionState,
  turn: CallTurn,
  { place, steps: { waiting, delivered, verdict }, own }: Folded,
): PendingTool[] {
  const done = new Set(delivered.map(({ tool }) => tool));
  const served = servedAfter(
    state.pending.filter((tool) => !done.has(tool)),
    place.tool,
    verdict,
  );
  if (turn.kind !== 'main') return served;
  const requested = waiting.map(({ external_id, span_id, started_at, input: [block] }) => ({
    ...{ tool_use_id: external_id, tool_name: block?.tool_name ?? '', n: own.n, span_id, started_at },
    thread_id: turn.thread_id,
    action: block ? actionOf(block) : '',
    ...{ stages: [], verdict: null, served: false },
  }));
  return [...served, ...requested];
}

/** The compaction that waits for its next call. A main call of the main thread ends the wait: it continues from the compaction or not. */
function compactedAfter(state: SessionState, turn: CallTurn, { llm }: CallSteps): SessionState['compacted'] {
  const { compacted } = state;
  if (turn.kind === 'offshoot:compaction') return compactionOf(state, turn, llm) ?? compacted;
  return turn.kind === 'main' && turn.thread_id === '' ? null : compacted;
}

const PREVIEW = 120;

/** The first words of the first trace that a person opened. */
const firstPrompt = ({ row }: LiveTrace): string | null =>
  row.synthetic === '' ? [...row.user_prompt].slice(0, PREVIEW).join('') || null : null;

const TITLE_BYTES = 255;

/** The title in the answer of a title call; null for any other call. */
function titleOf({ kind, identity, reply }: CallTurn): string | null {
  if (kind !== 'offshoot:title-gen') return null;
  const title = storable(titleIn(identity.harness_id, reply?.content ?? []));
  return cutBytes(title.trim(), TITLE_BYTES) || null;
}
