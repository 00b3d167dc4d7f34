/** Indexes over the columns of an outline: the order of traces and spans, the children of a span, its links both ways, the threads. */
import type { OutlineColumns } from './outline-columns.ts';

/** Lists of numbers by an index, one after the other: `of(i)` is a view of the i-th, and `each` goes through it without making one. */
export type IndexedLists = {
  of: (index: number) => Int32Array;
  each: (index: number, visit: (member: number) => void) => void;
};

export type OutlineIndex = {
  traces: Int32Array; // all traces, the oldest first
  spansOf: IndexedLists; // by trace: its spans in the order of the walk
  childrenOf: IndexedLists; // by span: those below it, in the order of the walk
  linksFrom: IndexedLists; // by span: rows of `links`
  linksTo: IndexedLists;
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
  const order = Int32Array.from(
    Array.from(upTo(traces.count)).sort(
      (a, b) =>
        at(traces.started_us, a) - at(traces.started_us, b) ||
        (at(traces.trace_id, a) < at(traces.trace_id, b) ? -1 : 1),
    ),
  );
  const spansOf = lists(traces.count, upTo(spans.count), (span) => at(spans.trace, span));
  const walk: number[] = [];
  const llm = columns.names.indexOf('llm');
  const called: number[] = [];
  for (const trace of order) {
    sortBy(spansOf.of(trace), spans.seq);
    spansOf.each(trace, (span) => {
      walk.push(span);
      if (spans.kind[span] === llm) called.push(span);
    });
  }
  const calls = Int32Array.from(called.sort((a, b) => at(spans.started_us, a) - at(spans.started_us, b)));
  const callOf = new Int32Array(spans.count).fill(-1);
  calls.forEach((span, n) => {
    callOf[span] = n;
  });
  const rows = upTo(links.count);
  return {
    ...{ traces: order, spansOf, calls, callOf },
    childrenOf: lists(spans.count, walk, (span) => at(spans.parent, span)),
    linksFrom: lists(spans.count, rows, (row) => at(links.from, row)),
    linksTo: lists(spans.count, rows, (row) => at(links.to, row)),
    threads: threadsOf(columns, walk),
  };
}

const upTo = (count: number): Int32Array => new Int32Array(count).map((_, i) => i);

/** In place; they mostly are in order. */
function sortBy(members: Int32Array, column: Float64Array): void {
  for (let i = 1; i < members.length; i++)
    if (at(column, at(members, i - 1)) > at(column, at(members, i))) {
      members.sort((a, b) => at(column, a) - at(column, b));
      return;
    }
}

/** The cell of a column at an index that exists. */
const at = <Cell>(column: ArrayLike<Cell>, index: number): Cell => column[index] as Cell;

/** @param keyOf below 0: in no list */
function lists(
  count: number,
  members: ArrayLike<number> & Iterable<number>,
  keyOf: (member: number) => number,
): IndexedLists {
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
  return {
    of: (index) => sorted.subarray(starts[index] ?? 0, starts[index + 1] ?? 0),
    each: (index, visit) => {
      const end = starts[index + 1] ?? 0;
      for (let i = starts[index] ?? 0; i < end; i++) visit(at(sorted, i));
    },
  };
}

function threadsOf({ names, spans }: OutlineColumns, walk: readonly number[]): Thread[] {
  const threads = new Map<number, Thread>();
  const agent = names.indexOf('agent');
  const threadOf = (name: number): Thread => {
    const thread = threads.get(name) ?? { name, spans: [] };
    threads.set(name, thread);
    return thread;
  };
  let last = threadOf(names.indexOf('')); // mostly it goes on
  for (const span of walk) {
    const name = at(spans.thread, span);
    if (name !== last.name) last = threadOf(name);
    if (spans.kind[span] === agent) last.spans.push(span);
  }
  return [...threads.values()];
}
