/** The steps of one trace, sorted by thread, with the relations that Talk shows: sub-agents, retries, forks, calls beside the conversation. */
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import type { OutlineIndex } from '../../../store/outline-index.ts';

/** `beside`: a call that a harness makes besides the conversation. */
export type StepKind = 'agent' | 'event' | 'tool' | 'call' | 'compaction' | 'beside';

export type TraceSteps = {
  all: Int32Array;
  first: number; // the first call of the conversation; -1: there is none
  kindOf: (span: number) => StepKind;
  byThread: ReadonlyMap<number, number[]>; // by name of the thread, without spans of agents
  agentsOf: ReadonlyMap<number, number[]>; // by the tool that sent them out
  unplaced: number[]; // sub-agents whose start is not known
  beside: number[];
  tries: ReadonlyMap<number, number[]>; // by the last call of a series, the failed ones before it
  triedAgainBy: ReadonlyMap<number, number>;
  forks: ReadonlyMap<number, number>; // by call: what it goes on from, a reference
  below: ReadonlyMap<number, number[]>; // by sub-agent, those that it sent out in this trace
  lanesOf: (agent: number) => LaneSpan;
};

/** The common time axis of sub-agents that one answer sent out. */
export type LaneSpan = { from_us: number; to_us: number };

const COMPACTION = 'offshoot:compaction';

export function traceSteps(columns: OutlineColumns, index: OutlineIndex, trace: number): TraceSteps {
  const { spans, names, links } = columns;
  const all = index.spansOf.of(trace);
  const kindOf = (span: number): StepKind => {
    const kind = names[spans.kind[span] ?? -1] ?? '';
    if (kind !== 'llm') return kind === 'agent' || kind === 'event' ? kind : 'tool';
    const called = names[spans.call_kind[span] ?? -1] ?? '';
    return called === COMPACTION ? 'compaction' : called.startsWith('offshoot:') ? 'beside' : 'call';
  };
  const startedBy = (agent: number): number => {
    const parent = spans.parent[agent] ?? -1;
    return parent >= 0 && spans.trace[parent] === trace && kindOf(parent) === 'tool' ? parent : -1;
  };
  const byThread = new Map<number, number[]>();
  const agents: number[] = [];
  const beside: number[] = [];
  const relations: { tries?: Many; triedAgainBy?: One; forks?: One } = {}; // most traces have none
  let first = -1;
  for (const span of all) {
    const kind = kindOf(span);
    if (kind === 'agent') {
      if ((spans.parent[span] ?? -1) !== -1) agents.push(span);
      continue;
    }
    if (kind === 'call' && first < 0) first = span;
    if (kind === 'beside') beside.push(span);
    push(byThread, spans.thread[span] ?? 0, span);
    index.linksFrom.each(span, (row) => {
      const to = links.to[row] ?? -1;
      const relation = names[links.kind[row] ?? -1];
      if (relation === 'fork-of') {
        relations.forks ??= new Map();
        relations.forks.set(span, to);
      }
      if (relation === 'retry-of' && to >= 0) {
        relations.triedAgainBy ??= new Map();
        relations.triedAgainBy.set(to, span);
        relations.tries ??= new Map();
        relations.tries.set(span, [...(relations.tries.get(to) ?? []), to]);
      }
    });
  }
  const sent = agents.length === 0 ? NONE_SENT : sentOut(columns, agents, startedBy);
  const lanesOf = (agent: number): LaneSpan => {
    const tool = startedBy(agent);
    return lanes(columns, (tool >= 0 && sent.together.get(spans.started_us[tool] ?? 0)) || [agent]);
  };
  const { agentsOf, unplaced, below } = sent;
  return {
    ...{ all, first, kindOf, byThread, beside, agentsOf, unplaced, below, lanesOf },
    ...{ tries: NONE, triedAgainBy: NONE, forks: NONE, ...relations },
  };
}

type One = Map<number, number>;
type Many = Map<number, number[]>;
const NONE = new Map<number, never>() as ReadonlyMap<number, never>;
/** Sub-agents by what sent them out. `together`: by the moment in which the answer that sent them out ended. */
type Sent = Pick<TraceSteps, 'agentsOf' | 'unplaced' | 'below'> & { together: ReadonlyMap<number, number[]> };
const NONE_SENT: Sent = { agentsOf: NONE, unplaced: [], below: NONE, together: NONE };

function sentOut({ spans }: OutlineColumns, agents: readonly number[], startedBy: (agent: number) => number): Sent {
  const agentsOf: Many = new Map();
  const unplaced: number[] = [];
  for (const agent of agents) {
    const tool = startedBy(agent);
    if (tool >= 0) push(agentsOf, tool, agent);
    else unplaced.push(agent);
  }
  const together: Many = new Map();
  const below: Many = new Map();
  const agentOf = new Map(agents.map((agent) => [spans.thread[agent] ?? -1, agent] as const));
  for (const [tool, sent] of agentsOf) {
    const sender = agentOf.get(spans.thread[tool] ?? -1);
    for (const agent of sent) {
      push(together, spans.started_us[tool] ?? 0, agent);
      if (sender !== undefined && sender !== agent) push(below, sender, agent);
    }
  }
  return { agentsOf, unplaced, below, together };
}

/** From the first start to the last end of some agents. */
function lanes({ spans }: OutlineColumns, agents: readonly number[]): LaneSpan {
  const axis = { from_us: Number.POSITIVE_INFINITY, to_us: Number.NEGATIVE_INFINITY };
  for (const agent of agents) {
    const started = spans.started_us[agent] ?? 0;
    axis.from_us = Math.min(axis.from_us, started);
    axis.to_us = Math.max(axis.to_us, started + (spans.duration_us[agent] || 0));
  }
  return axis;
}

function push(lists: Map<number, number[]>, key: number, member: number): void {
  const list = lists.get(key);
  if (list) list.push(member);
  else lists.set(key, [member]);
}
