/** The steps of one trace, sorted by thread, with the relations that Talk shows: sub-agents, retries, forks, calls beside the conversation. */
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import type { OutlineIndex } from '../../../store/outline-index.ts';

/** `beside`: a call that a harness makes besides the conversation. */
export type StepKind = 'agent' | 'event' | 'tool' | 'call' | 'compaction' | 'beside';

export type TraceSteps = {
  all: Int32Array;
  first: number; // the first call of the conversation; -1: there is none
  kindOf: (span: number) => StepKind;
  byThread: Map<number, number[]>; // by name of the thread, without spans of agents
  agentsOf: Map<number, number[]>; // by the tool that sent them out
  unplaced: number[]; // sub-agents whose start is not known
  beside: number[];
  tries: Map<number, number[]>; // by the last call of a series, the failed ones before it
  triedAgainBy: Map<number, number>;
  forks: Map<number, number>; // by call: what it goes on from, a reference
  below: Map<number, number[]>; // by sub-agent, those that it sent out in this trace
  lanesOf: (agent: number) => Lanes;
};

/** The common time axis of sub-agents that one answer sent out. */
export type Lanes = { from_us: number; to_us: number };

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
  const agents = all.filter((span) => kindOf(span) === 'agent' && (spans.parent[span] ?? -1) !== -1);
  const startedBy = (agent: number): number => {
    const parent = spans.parent[agent] ?? -1;
    return parent >= 0 && spans.trace[parent] === trace && kindOf(parent) === 'tool' ? parent : -1;
  };
  const steps = {
    byThread: new Map<number, number[]>(),
    agentsOf: new Map<number, number[]>(),
    unplaced: [] as number[],
    beside: [] as number[],
    tries: new Map<number, number[]>(),
    triedAgainBy: new Map<number, number>(),
    forks: new Map<number, number>(),
  };
  for (const agent of agents) {
    const tool = startedBy(agent);
    if (tool >= 0) push(steps.agentsOf, tool, agent);
    else steps.unplaced.push(agent);
  }
  let first = -1;
  for (const span of all) {
    const kind = kindOf(span);
    if (kind === 'agent') continue;
    if (kind === 'call' && first < 0) first = span;
    if (kind === 'beside') steps.beside.push(span);
    push(steps.byThread, spans.thread[span] ?? 0, span);
    for (const row of index.linksFrom.of(span)) {
      const to = links.to[row] ?? -1;
      const relation = names[links.kind[row] ?? -1];
      if (relation === 'fork-of') steps.forks.set(span, to);
      if (relation === 'retry-of' && to >= 0) {
        steps.triedAgainBy.set(to, span);
        steps.tries.set(span, [...(steps.tries.get(to) ?? []), to]);
      }
    }
  }
  const together = new Map<number, number[]>(); // agents by the moment in which the answer that sent them out ended
  const below = new Map<number, number[]>();
  const agentOf = new Map(Array.from(agents, (agent) => [spans.thread[agent] ?? -1, agent] as const));
  for (const [tool, sent] of steps.agentsOf) {
    const sender = agentOf.get(spans.thread[tool] ?? -1);
    for (const agent of sent) {
      push(together, spans.started_us[tool] ?? 0, agent);
      if (sender !== undefined && sender !== agent) push(below, sender, agent);
    }
  }
  const lanesOf = (agent: number): Lanes => {
    const tool = startedBy(agent);
    return lanes(columns, (tool >= 0 && together.get(spans.started_us[tool] ?? 0)) || [agent]);
  };
  return { ...steps, all, first, kindOf, below, lanesOf };
}

/** From the first start to the last end of some agents. */
function lanes({ spans }: OutlineColumns, agents: readonly number[]): Lanes {
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
