/** The rows of Talk: a flat list of what is to be seen of a session's columns, made in one pass over its spans. */
import { isPart, type OutlineColumns } from '../../../store/outline-columns.ts';
import { type OutlineIndex, outlineIndex } from '../../../store/outline-index.ts';
import { type LaneSpan, type TraceSteps, traceSteps } from './trace-steps.ts';

export const ROW_KINDS = [
  'trace',
  'fork',
  'prompt',
  'context',
  'step',
  'compaction',
  'tool',
  'agent',
  'beside',
] as const;
export type RowKind = (typeof ROW_KINDS)[number];

/** What decides which rows there are, besides the columns. */
export type TalkView = {
  thread: string; // '' is the main one
  beside: boolean; // calls beside the conversation are shown
  isOpen: (agent: number) => boolean; // whether a sub-agent's steps are shown below its card
};

/**
 * The rows, by column. `of` is a span, of a row of kind `trace` and `beside` a trace; `many`: of a context row how many events it folds, of
 * `beside` how many calls, of `trace` its number (0: not known yet); `depth`: 1 below the card of a sub-agent.
 */
export type TalkRows = {
  count: number;
  kind: RowKind[];
  of: Int32Array;
  depth: Uint8Array;
  many: Int32Array;
  rowOf: Int32Array; // by span: the row that shows it; -1: none does
  tries: Map<number, number[]>; // by the last call of a series: the failed ones that it tries again, the first of them first
  lanes: Map<number, LaneSpan>; // by span of a sub-agent
  below: Map<number, number[]>; // by span of a sub-agent, those that it sent out
};

export function talkRows(columns: OutlineColumns, view: TalkView): TalkRows {
  const index = outlineIndex(columns);
  const rows = new RowList(columns.spans.count);
  const thread = columns.names.indexOf(view.thread);
  for (const [n, trace] of index.traces.entries()) {
    const steps = traceSteps(columns, index, trace);
    const own = steps.byThread.get(thread);
    if (!own && (view.thread !== '' || steps.unplaced.length === 0)) continue;
    if (steps.first >= 0 || view.beside) rows.add('trace', trace, 0, isPart(columns) ? 0 : n + 1);
    if (own) threadRows(rows, { columns, index, steps, view }, own, 0);
    if (view.thread !== '') continue;
    for (const agent of steps.unplaced) cardRows(rows, { columns, index, steps, view }, agent, 0);
    if (steps.beside.length > 0 && !view.beside) {
      const row = rows.add('beside', trace, 0, steps.beside.length);
      for (const span of steps.beside) rows.rowOf[span] = row;
    }
  }
  return rows.finished();
}

type Work = { columns: OutlineColumns; index: OutlineIndex; steps: TraceSteps; view: TalkView };

function threadRows(rows: RowList, work: Work, spans: readonly number[], depth: number): void {
  const { columns, steps, view } = work;
  let events: number[] = [];
  const putEvents = () => {
    const [first] = events;
    if (first === undefined) return;
    const row = rows.add('context', first, depth, events.length);
    for (const event of events) rows.rowOf[event] = row;
    events = [];
  };
  for (const span of spans) {
    const kind = steps.kindOf(span);
    if (kind === 'event') events.push(span);
    else if (kind === 'tool') {
      putEvents();
      rows.span('tool', span, depth);
      for (const agent of steps.agentsOf.get(span) ?? []) cardRows(rows, work, agent, depth);
    } else if (kind === 'compaction') {
      putEvents();
      rows.span('compaction', span, depth);
    } else if (kind === 'call' || (kind === 'beside' && view.beside)) {
      const failed = steps.triedAgainBy.get(span);
      if (steps.forks.has(span)) rows.add('fork', span, depth);
      if (hasInput(columns, steps, span)) rows.add('prompt', span, depth);
      putEvents();
      if (failed === undefined) {
        const row = rows.span('step', span, depth);
        const tries = steps.tries.get(span);
        if (tries) rows.tries.set(span, tries);
        for (const one of tries ?? []) rows.rowOf[one] = row;
      }
    }
  }
  putEvents();
}

/** The card of a sub-agent and, where it is open, its steps. Those of the agents below them are one more thread away. */
function cardRows(rows: RowList, work: Work, agent: number, depth: number): void {
  const { columns, steps, view } = work;
  rows.span('agent', agent, depth);
  rows.lanes.set(agent, steps.lanesOf(agent));
  rows.below.set(agent, steps.below.get(agent) ?? []);
  const own = steps.byThread.get(columns.spans.thread[agent] ?? -1) ?? [];
  if (depth === 0 && view.isOpen(agent)) threadRows(rows, work, own, 1);
  else hideSteps(rows, steps, columns, agent, new Set());
}

/** What a closed card holds is found at the card. */
function hideSteps(rows: RowList, steps: TraceSteps, columns: OutlineColumns, agent: number, seen: Set<number>): void {
  if (seen.has(agent)) return; // recorded agents could name each other as their senders
  seen.add(agent);
  const card = rows.rowOf[agent] ?? -1;
  for (const span of steps.byThread.get(columns.spans.thread[agent] ?? -1) ?? []) rows.rowOf[span] = card;
  rows.below.set(agent, steps.below.get(agent) ?? []);
  for (const below of steps.below.get(agent) ?? []) {
    if (!seen.has(below)) rows.rowOf[below] = card;
    hideSteps(rows, steps, columns, below, seen);
  }
}

/** Whether a call brought words with it. Before the texts are counted, the first call of a prompt is taken to have. */
function hasInput({ spans, traces }: OutlineColumns, { first }: TraceSteps, span: number): boolean {
  if ((spans.input_characters[span] ?? 0) > 0 || (spans.images[span] ?? 0) > 0) return true;
  return (
    span === first && (traces.user_prompt[spans.trace[span] ?? -1] ?? '') !== '' && spans.output_characters[span] === 0
  );
}

/** Rows while they are gathered. */
class RowList {
  readonly kind: RowKind[] = [];
  readonly of: number[] = [];
  readonly depth: number[] = [];
  readonly many: number[] = [];
  readonly rowOf: Int32Array;
  readonly tries = new Map<number, number[]>();
  readonly lanes = new Map<number, LaneSpan>();
  readonly below = new Map<number, number[]>();

  constructor(spans: number) {
    this.rowOf = new Int32Array(spans).fill(-1);
  }

  add(kind: RowKind, of: number, depth: number, many = 1): number {
    this.kind.push(kind);
    this.of.push(of);
    this.depth.push(depth);
    return this.many.push(many) - 1;
  }

  /** A row that shows a span of its own. */
  span(kind: RowKind, span: number, depth: number): number {
    const row = this.add(kind, span, depth);
    this.rowOf[span] = row;
    return row;
  }

  finished(): TalkRows {
    const { kind, rowOf, tries, lanes, below } = this;
    const [of, depth, many] = [new Int32Array(this.of), new Uint8Array(this.depth), new Int32Array(this.many)];
    return { count: kind.length, kind, of, depth, many, rowOf, tries, lanes, below };
  }
}
