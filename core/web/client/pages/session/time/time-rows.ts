/** The rows of the Time lens: prompts, lanes of sub-agents, steps, and runs of the same tool, as a flat list in which what is folded is left out. */
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import type { OutlineIndex } from '../../../store/outline-index.ts';

export type RowType = 'trace' | 'lane' | 'step' | 'run';
const TYPES: readonly RowType[] = ['trace', 'lane', 'step', 'run'];
const [TRACE, LANE, STEP, RUN] = [0, 1, 2, 3];

export type TimeRow = {
  type: RowType;
  key: string; // of its fold, and of the row: an id, never a position
  trace: number;
  span: number; // of a run its first; -1: a trace whose agent is not here
  level: number; // 1 first
  place: number; // among its siblings, 1 first
  siblings: number;
  members: Int32Array; // of a run: its spans
  folded: boolean | null; // null: there is nothing to fold
};

export type TimeRows = {
  count: number;
  row: (index: number) => TimeRow;
  /** The row that shows a span: its own, or that of what it is folded into; -1: none. */
  rowOf: (span: number) => number;
};

/** `toggled`: the keys of rows that are not as they are at first: runs folded, all else open. `trace` -1: all. */
export type TimeView = { toggled: ReadonlySet<string>; trace: number; beside: boolean };

const SHORTEST_RUN = 3;

/** In one walk over the spans. Injected context takes no time, and has no row. */
export function timeRows(columns: OutlineColumns, index: OutlineIndex, view: TimeView): TimeRows {
  const { spans, traces, names } = columns;
  const kindOf = (kind: string) => names.indexOf(kind);
  const [agent, tool, event] = [kindOf('agent'), kindOf('tool'), kindOf('event')];
  const isBeside = names.map((name) => name.startsWith('offshoot:'));
  const room = traces.count + 2 * spans.count;
  const [type, level] = [new Uint8Array(room), new Uint8Array(room)];
  const column = () => new Int32Array(room);
  const [span, trace, place, siblings, first, length] = [column(), column(), column(), column(), column(), column()];
  const [fold, members] = [new Int8Array(room), new Int32Array(spans.count)]; // fold: -1 nothing to fold, 0 open, 1 folded
  const shownAt = new Int32Array(spans.count).fill(-1);
  let [count, memberCount] = [0, 0];

  const add = (kind: number, of: { span: number; trace: number; level: number; place: number; siblings: number }) => {
    type[count] = kind;
    level[count] = Math.min(of.level, 255);
    span[count] = of.span;
    trace[count] = of.trace;
    place[count] = of.place;
    siblings[count] = of.siblings;
    fold[count] = -1;
    if (of.span >= 0) shownAt[of.span] = count;
    return count++;
  };
  const foldAt = (row: number, key: string, atFirst: boolean): boolean => {
    const folded = view.toggled.has(key) !== atFirst;
    fold[row] = folded ? 1 : 0;
    return folded;
  };
  const hasRow = (child: number): boolean =>
    spans.kind[child] !== event && (view.beside || !isBeside[spans.call_kind[child] ?? 0]);
  const isPlainTool = (child: number): boolean =>
    spans.kind[child] === tool && !index.childrenOf.of(child).some((below) => hasRow(below));
  const runEnd = (list: ArrayLike<number>, from: number): number => {
    let end = from + 1;
    if (!isPlainTool(list[from] ?? -1)) return end;
    while (
      end < list.length &&
      spans.name[list[end] ?? -1] === spans.name[list[from] ?? -1] &&
      isPlainTool(list[end] ?? -1)
    )
      end++;
    return end;
  };

  const walk = (list: ArrayLike<number>, below: number, of: number) => {
    const groups: [from: number, end: number][] = [];
    for (let from = 0; from < list.length; ) {
      const end = runEnd(list, from);
      if (end - from >= SHORTEST_RUN) groups.push([from, end]);
      else for (let one = from; one < end; one++) groups.push([one, one + 1]);
      from = end;
    }
    for (const [n, [from, end]] of groups.entries()) {
      const child = list[from] ?? -1;
      const at = { span: child, trace: of, level: below, place: n + 1, siblings: groups.length };
      if (end - from > 1) walkRun(list, from, end, at);
      else walkOne(child, at);
    }
  };
  const walkRun = (list: ArrayLike<number>, from: number, end: number, at: Parameters<typeof add>[1]) => {
    const row = add(RUN as number, at);
    first[row] = memberCount;
    length[row] = end - from;
    for (let one = from; one < end; one++) {
      members[memberCount++] = list[one] ?? -1;
      shownAt[list[one] ?? -1] = row;
    }
    if (foldAt(row, runKey(spans.span_id[at.span] ?? ''), true)) return;
    for (let one = from; one < end; one++)
      add(STEP as number, {
        ...at,
        span: list[one] ?? -1,
        level: at.level + 1,
        place: one - from + 1,
        siblings: end - from,
      });
  };
  const walkOne = (child: number, at: Parameters<typeof add>[1]) => {
    const row = add((spans.kind[child] === agent ? LANE : STEP) as number, at);
    const children = index.childrenOf.of(child).filter(hasRow);
    if (children.length === 0 || foldAt(row, spans.span_id[child] ?? '', false)) return;
    walk(children, at.level + 1, at.trace);
  };

  const shown = view.trace >= 0 ? Int32Array.of(view.trace) : index.traces;
  for (const [n, one] of shown.entries()) {
    const tops = index.spansOf.of(one).filter((top) => (spans.parent[top] ?? -1) < 0);
    const root = tops.find((top) => spans.kind[top] === agent) ?? -1;
    const row = add(TRACE as number, { span: root, trace: one, level: 1, place: n + 1, siblings: shown.length });
    const children = [...(root < 0 ? [] : index.childrenOf.of(root)), ...tops.filter((top) => top !== root)].filter(
      hasRow,
    );
    if (children.length === 0 || foldAt(row, traceKey(traces.trace_id[one] ?? ''), false)) continue;
    walk(children, 2, one);
  }

  const keyOf = (row: number): string => {
    const id = spans.span_id[span[row] ?? -1] ?? '';
    if (type[row] === TRACE) return traceKey(traces.trace_id[trace[row] ?? -1] ?? '');
    return type[row] === RUN ? runKey(id) : id;
  };
  return {
    count,
    row: (at) => ({
      type: TYPES[type[at] ?? 0] ?? 'step',
      key: keyOf(at),
      trace: trace[at] ?? -1,
      span: span[at] ?? -1,
      level: level[at] ?? 1,
      place: place[at] ?? 1,
      siblings: siblings[at] ?? 1,
      members: members.subarray(first[at] ?? 0, (first[at] ?? 0) + (length[at] ?? 0)),
      folded: fold[at] === -1 ? null : fold[at] === 1,
    }),
    rowOf: (of) => {
      for (let at = of; at >= 0; at = spans.parent[at] ?? -1) {
        const row = shownAt[at] ?? -1;
        if (row >= 0) return row;
      }
      return -1;
    },
  };
}

const traceKey = (trace_id: string): string => `trace ${trace_id}`;
const runKey = (span_id: string): string => `run ${span_id}`;
