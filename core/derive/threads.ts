/** Threads: a sub-agent's calls stand under a span of its own, below the tool call that started it where that is known. */
import { threadIn } from '../harness/harnesses.ts';
import { agentTotalsWith, noAgentTotals } from './agent-totals.ts';
import type { LinkRow, SpanPatch, SpanRow } from './changes.ts';
import type { TranscriptEvidence } from './evidence.ts';
import { firstWords, wordsKey } from './first-words.ts';
import { headOf } from './heads.ts';
import { threadSpanId } from './ids.ts';
import { durationNs, later } from './instants.ts';
import { genuinePrompts } from './prompt.ts';
import { agentWords, link } from './spans.ts';
import { answeredSpawns, claimedBy, requestedSpawns, shortText, spawnOf } from './spawns.ts';
import type { Agent, LiveTrace, SessionState, Spawn } from './state.ts';
import type { ToolResult } from './tools.ts';
import type { CallTurn } from './turn.ts';
import type { CallSpend } from './usage-sums.ts';

/**
 * The call with its thread. A call that names no thread, but begins with the first words of one or continues such a call, belongs
 * to that thread. A thread's compaction is a main call of it like any other. `guessed`: the call does not name its thread.
 */
export function attributed(
  state: SessionState,
  turn: CallTurn,
  { prompts }: TranscriptEvidence,
): { turn: CallTurn; guessed: boolean } {
  const isTalk = turn.kind === 'main' || turn.kind === 'offshoot:compaction';
  if (!isTalk) return { turn, guessed: false };
  if (turn.thread_id !== '') return { turn: { ...turn, kind: 'main' }, guessed: false };
  const head = headOf(state, turn);
  const thread_id = head?.guessed ? head.thread_id : head || prompts.size === 0 ? '' : threadByWords(turn, prompts);
  return thread_id === '' ? { turn, guessed: false } : { turn: { ...turn, thread_id, kind: 'main' }, guessed: true };
}

/** The thread whose prompt has the first words of a call that begins a conversation; '' when there is none. */
function threadByWords({ fresh, kind }: CallTurn, prompts: TranscriptEvidence['prompts']): string {
  const messages = fresh.filter(({ injected }) => injected === '');
  const first = messages.find(({ role }) => role === 'user');
  if (kind !== 'main' || !first || messages.some(({ role }) => role === 'assistant')) return '';
  return prompts.get(firstWords(first.content)) ?? '';
}

/** The span under which a thread's calls stand now; null when it has none that is live. */
export const agentOf = ({ agents, live }: SessionState, thread_id: string): Agent | null =>
  agents.findLast((agent) => agent.thread_id === thread_id && live.some(({ n }) => n === agent.n)) ?? null;

/** A thread without a live span: its description, and the call that started it. */
export function newThread(
  { spawns }: SessionState,
  turn: CallTurn,
  { anchors }: TranscriptEvidence,
): { who: Pick<Agent, 'thread_id' | 'path' | 'label' | 'description'>; spawn: Spawn | null } {
  const { thread_id } = turn;
  const anchor = anchors.get(thread_id);
  const thread = threadIn(turn.identity.harness_id, turn.identity.harness_metadata);
  const path = shortText(anchor?.path || thread.path);
  const label = shortText(thread.label || anchor?.label || '');
  const promptKeys = genuinePrompts(turn).map(({ content }) => wordsKey(firstWords(content)));
  const words = [promptKeys.at(0) ?? '', promptKeys.at(-1) ?? ''].filter((key) => key !== '');
  return {
    who: { thread_id, path, label, description: shortText(anchor?.description ?? '') },
    spawn: spawnOf(spawns, { thread_id, path }, { anchor, words }),
  };
}

/** The span of a thread in a trace, as it begins. */
export const newAgent = (
  who: Pick<Agent, 'thread_id' | 'path' | 'label' | 'description'>,
  { requested_at, call_id }: CallTurn,
  { n, root_span_id, forgot_agents }: LiveTrace,
  spawn: Spawn | null,
): Agent => ({
  ...describedBySpawn(who, spawn),
  n,
  span_id: threadSpanId(who.thread_id, forgot_agents ? call_id : ''),
  parent_span_id: spawn?.span_id ?? root_span_id,
  tool: spawn?.span_id ?? '',
  started_at: requested_at,
  ended_at: null,
  status: 'ok',
  totals: noAgentTotals,
  rejoined: false,
});

/** Takes the label and description from the call that started the thread, where the thread itself has none. */
const describedBySpawn = <Who extends Pick<Agent, 'label' | 'description'>>(who: Who, spawn: Spawn | null): Who => ({
  ...who,
  label: who.label || (spawn?.label ?? ''),
  description: who.description || (spawn?.description ?? ''),
});

export const agentPatch = (agent: Agent, trace_id: string): SpanPatch => {
  const { span_id, parent_span_id, started_at, ended_at, status, totals } = agent;
  return {
    ...{ trace_id, span_id, parent_span_id, status, ended_at, totals },
    ...agentWords(agent),
    duration_ns: durationNs(started_at, ended_at),
  };
};

export type ThreadsAfter = { agents: Agent[]; spawns: Spawn[]; patches: SpanPatch[]; links: LinkRow[] };

/**
 * What a call changes about threads: its own continues, results name the threads that were started, and threads of unknown origin
 * are matched to the call that started them. `own` is the call's thread; null for the main one and for calls beside the conversation.
 */
export function threadsAfter(
  state: SessionState,
  turn: CallTurn,
  { trace, own, steps }: { trace: LiveTrace; own: Agent | null; steps: ThreadSteps },
): ThreadsAfter {
  const traceIds = new Map([...state.live, trace].map(({ n, row }) => [n, row.trace_id]));
  const idOf = (n: number) => traceIds.get(n) ?? '';
  const answered = answeredSpawns(state.spawns, turn, steps.delivered);
  const others = state.agents.filter((agent) => own === null || agent.n !== own.n || agent.span_id !== own.span_id);
  const before = own ? [...others, agentAfter(own, steps)] : state.agents;
  const isNew = own !== null && others.length === state.agents.length;

  let spawns = answered;
  const claim = (agent: Agent) => {
    spawns = spawns.map((spawn) => (isStartOf(spawn, agent) ? claimedBy(spawn, agent) : spawn));
  };
  if (own && isNew) claim(own);
  const named = answered.some((spawn, i) => spawn !== state.spawns[i] && spawn.names.length > 0);
  const found = [...before];
  if (named)
    for (const [i, agent] of before.entries()) {
      const moved = state.live.some(({ n, forgot_agents }) => n === agent.n && !forgot_agents)
        ? movedAgent(agent, found, spawns)
        : agent;
      found[i] = moved; // one after the other, so that no two end up below each other
      if (moved !== agent) claim(moved);
    }
  const updated = found.map((agent) =>
    agent.tool !== '' && !agent.rejoined && spawns.some((spawn) => spawn.done && isStartOf(spawn, agent))
      ? { ...agent, rejoined: true }
      : agent,
  );

  const isOwn = (i: number) => own !== null && i === updated.length - 1;
  const changed = updated.filter((agent, i) => isOwn(i) || agent !== before[i]);
  return {
    agents: updated,
    spawns: [...spawns, ...(turn.kind === 'main' ? requestedSpawns(turn, steps.waiting, trace.n) : [])],
    patches: changed.map((agent) => agentPatch(agent, idOf(agent.n))),
    links: updated
      .filter((agent, i) => agent.rejoined && !before[i]?.rejoined)
      .map(({ n, span_id, tool }) =>
        link(
          'rejoin',
          turn,
          { trace_id: idOf(n), span_id, io: 'output' },
          { trace_id: idOf(n), span_id: tool, io: 'output' },
        ),
      ),
  };
}

/** What threads need of a call's steps. */
export type ThreadSteps = {
  llm: SpanRow;
  requested: { span: SpanRow; result: ToolResult | null }[];
  waiting: SpanRow[]; // the tools without a result
  delivered: { tool: { n: number; span_id: string }; result: ToolResult }[];
  tool_calls: number;
  spent: CallSpend;
};

const isStartOf = (spawn: Spawn, { n, tool }: Agent): boolean => spawn.n === n && spawn.span_id === tool;

function agentAfter(agent: Agent, { llm, requested, spent, tool_calls }: ThreadSteps): Agent {
  const ends = [llm, ...requested.map(({ span }) => span)].map(({ ended_at }) => ended_at);
  const totals = agentTotalsWith(agent.totals, spent, tool_calls);
  return { ...agent, status: llm.status, totals, ended_at: ends.reduce(later, agent.ended_at) };
}

/** An agent moved under the tool that is now known to have started it, if that is in the same trace and not below the agent itself. */
function movedAgent(agent: Agent, agents: readonly Agent[], spawns: readonly Spawn[]): Agent {
  if (agent.tool !== '') return agent;
  const spawn = spawnOf(spawns, agent, { anchor: undefined, words: [] });
  if (!spawn || spawn.n !== agent.n || !isAbove(spawn, agent, agents, spawns)) return agent;
  return { ...describedBySpawn(agent, spawn), tool: spawn.span_id, parent_span_id: spawn.span_id };
}

/** Whether the way up from a tool to the main thread does not pass the agent. A spawn that is no longer remembered counts as below it. */
function isAbove(spawn: Spawn, agent: Agent, agents: readonly Agent[], spawns: readonly Spawn[]): boolean {
  let thread = spawn.thread_id;
  for (let steps = 0; thread !== '' && steps <= agents.length; steps++) {
    if (thread === agent.thread_id) return false;
    const parent = agents.find(({ n, thread_id }) => n === agent.n && thread_id === thread);
    if (!parent) return false;
    thread = parent.tool === '' ? '' : (spawns.find((one) => isStartOf(one, parent))?.thread_id ?? agent.thread_id);
  }
  return thread === '';
}
