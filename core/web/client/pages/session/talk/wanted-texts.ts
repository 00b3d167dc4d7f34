/** The spans whose texts the rows in view and near it show, the nearest first. */
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import { outlineIndex } from '../../../store/outline-index.ts';
import type { WantedSpan } from '../../../store/span-window.ts';
import type { Folds } from './folds.ts';
import type { TalkRows } from './talk-rows.ts';

const DRAWN_AHEAD = 8; // rows that a list draws beyond its view

/** @param first and `last`: the rows in view; as many before and behind them are wanted too */
export function wantedTexts(
  columns: OutlineColumns,
  rows: TalkRows,
  folds: Folds,
  { first, last }: { first: number; last: number },
): WantedSpan[] {
  const screen = Math.max(last - first + 1, DRAWN_AHEAD);
  const near = [
    ...range(first, last),
    ...range(last + 1, Math.min(rows.count - 1, last + screen)),
    ...range(Math.max(0, first - screen), first - 1),
  ];
  const spans = new Set(near.flatMap((row) => shownSpans(columns, rows, folds, row)));
  return [...spans].map((span) => wantedSpan(columns, span));
}

export const wantedSpan = ({ spans, traces }: OutlineColumns, span: number): WantedSpan => ({
  trace_id: traces.trace_id[spans.trace[span] ?? -1] ?? '',
  span_id: spans.span_id[span] ?? '',
  seq: spans.seq[span] ?? 0,
  changed: spans.changed[span] ?? 0,
});

/** The spans whose text a row shows as it is folded now. */
export function shownSpans(columns: OutlineColumns, rows: TalkRows, { isOpen }: Folds, row: number): number[] {
  const of = rows.of[row] ?? -1;
  const kind = rows.kind[row];
  const id = columns.spans.span_id[of] ?? '';
  if (kind === 'prompt') return [of];
  if (kind === 'step') return [...(isOpen('tries', id) ? (rows.tries.get(of) ?? []) : []), of];
  if (kind === 'tool') return isOpen('tool', id) ? [of] : [];
  if (kind === 'compaction') return isOpen('compaction', id) ? [of] : [];
  return kind === 'context' && isOpen('context', id) ? contextSpans(columns, of, rows.many[row] ?? 1) : [];
}

/** The events of a row: those of one thread that follow each other, though steps of another may stand between them. */
export function contextSpans(columns: OutlineColumns, first: number, many: number): number[] {
  const { spans } = columns;
  const all = outlineIndex(columns).spansOf.of(spans.trace[first] ?? -1);
  const found: number[] = [];
  for (let at = all.indexOf(first); at < all.length && found.length < many; at++) {
    const span = all[at] ?? -1;
    if (spans.thread[span] === spans.thread[first] && spans.kind[span] === spans.kind[first]) found.push(span);
  }
  return found;
}

const range = (first: number, last: number): number[] =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);
