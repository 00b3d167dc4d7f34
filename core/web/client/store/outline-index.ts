/** Indexes over the columns of an outline: the order of traces and spans, the children of a span, its links both ways, the threads. */
import type { OutlineColumns } from './outline-columns.ts';

/** Lists of numbers by an index, one after the other: `of(i)` is a view of the i-th. */
export type Lists = { of: (index: number) => Int32Array };

export type OutlineIndex = {
  traces: Int32Array; // all traces, the oldest first
  spansOf: Lists; // by trace: its spans in the order of the walk
  childrenOf: Lists; // by span: those below it, in the order of the walk
  linksFrom: Lists; // by span: rows of `links`
  linksTo: Lists;
  threads: Thread[]; // the main one first, the others in the order in which they began
  callOf: Int32Array; // by span: the number of the call among all calls in order of time, 0 first; -1: it is none
  calls: Int32Array; // spans of kind llm in order of time
};

/** `name` is an index of names; `spans` are the spans of kind agent that stand for it, one in each of its traces. */
export type Thread = { name: number; spans: number[] };

const made = new WeakMap<OutlineColumns, OutlineIndex>();

/** The indexes of some columns; made once. */
export function outlineIndex(columns: OutlineColumns): OutlineIndex {
  const known = made.get(columns);
  if (known) return known;
  const index = makeIndex(columns);
  made.set(columns, index);
  return index;
}

function makeIndex(columns: OutlineColumns): OutlineIndex {
  const { traces, spans, links } = columns;
  const order = Int32Array.from({ length: traces.count }, (_, i) => i).sort(
    (a, b) =>
      at(traces.started_us, a) - at(traces.started_us, b) || (at(traces.trace_id, a) < at(traces.trace_id, b) ? -1 : 1),
  );
  const bySeq = Int32Array.from({ length: spans.count }, (_, i) => i).sort(
    (a, b) => at(spans.seq, a) - at(spans.seq, b),
  );
  const llm = columns.names.indexOf('llm');
  const calls = bySeq
    .filter((span) => spans.kind[span] === llm)
    .sort((a, b) => at(spans.started_us, a) - at(spans.started_us, b));
  const callOf = new Int32Array(spans.count).fill(-1);
  for (const [n, span] of calls.entries()) callOf[span] = n;
  const rows = Int32Array.from({ length: links.count }, (_, i) => i);
  const spansOf = lists(traces.count, bySeq, (span) => at(spans.trace, span));
  return {
    ...{ traces: order, spansOf, calls, callOf },
    childrenOf: lists(spans.count, bySeq, (span) => at(spans.parent, span)),
    linksFrom: lists(spans.count, rows, (row) => at(links.from, row)),
    linksTo: lists(spans.count, rows, (row) => at(links.to, row)),
    threads: threadsOf(columns, order, spansOf),
  };
}

/** The cell of a column at an index that exists. */
const at = <Cell>(column: ArrayLike<Cell>, index: number): Cell => column[index] as Cell;

/** @param keyOf below 0: in no list */
function lists(count: number, members: Int32Array, keyOf: (member: number) => number): Lists {
  const starts = new Int32Array(count + 1);
  for (const member of members) {
    const key = keyOf(member);
    if (key >= 0) starts[key + 1] = (starts[key + 1] ?? 0) + 1;
  }
  for (let i = 0; i < count; i++) starts[i + 1] = (starts[i + 1] ?? 0) + (starts[i] ?? 0);
  const next = starts.slice();
  const sorted = new Int32Array(starts[count] ?? 0);
  for (const member of members) {
    const key = keyOf(member);
    if (key < 0) continue;
    const place = at(next, key);
    sorted[place] = member;
    next[key] = place + 1;
  }
  return { of: (index) => sorted.subarray(starts[index] ?? 0, starts[index + 1] ?? 0) };
}

function threadsOf({ names, spans }: OutlineColumns, traces: Int32Array, spansOf: Lists): Thread[] {
  const threads = new Map<number, Thread>();
  const agent = names.indexOf('agent');
  const threadOf = (name: number): Thread => {
    const thread = threads.get(name) ?? { name, spans: [] };
    threads.set(name, thread);
    return thread;
  };
  threadOf(names.indexOf(''));
  for (const trace of traces)
    for (const span of spansOf.of(trace)) {
      const thread = threadOf(at(spans.thread, span));
      if (spans.kind[span] === agent) thread.spans.push(span);
    }
  return [...threads.values()];
}
