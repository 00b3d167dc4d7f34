/** Reads the texts of the rows in view, and marks the moment in which the first screen can be read. */
import { effect } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import type { SpanWindow } from '../../../store/span-window.ts';
import type { Folds } from './folds.ts';
import { answerIsCut, inputIsCut, toolIsCut } from './needs-whole.ts';
import type { TalkRows } from './talk-rows.ts';
import { shownSpans, wantedSpan, wantedTexts } from './wanted-texts.ts';

export type RowRange = { first: number; last: number };

/** @returns sets the rows in view */
export function useTalkTexts(columns: OutlineColumns, rows: TalkRows, folds: Folds, texts: SpanWindow) {
  const [range, setRange] = useState<RowRange>({ first: 0, last: -1 });
  useEffect(
    () =>
      effect(() => {
        if (range.last >= range.first) texts.show(wantedTexts(columns, rows, folds, clamped(range, rows.count)));
      }),
    [columns, rows, folds, texts, range.first, range.last],
  );
  useEffect(
    () =>
      effect(() => {
        const { first, last } = clamped(range, rows.count);
        for (let row = first; row <= last; row++) if (!isReady(columns, rows, folds, texts, row)) return;
        if (last >= first) markOnce('svc:talk-ready');
      }),
    [columns, rows, folds, texts, range.first, range.last],
  );
  return { range, setRange };
}

/** Whether a row shows all of its text. */
export function isReady(
  columns: OutlineColumns,
  rows: TalkRows,
  folds: Folds,
  texts: SpanWindow,
  row: number,
): boolean {
  return shownSpans(columns, rows, folds, row).every((span) => {
    const text = texts.text(wantedSpan(columns, span)).value;
    if (!text || text.whole) return text !== undefined;
    const kind = rows.kind[row];
    if (kind === 'tool') return !toolIsCut(text.span);
    if (kind === 'prompt' || kind === 'context') return !inputIsCut(text.span);
    return !answerIsCut(text.span, folds);
  });
}

/** For measurements from outside. */
export function markOnce(name: string): void {
  if (performance.getEntriesByName(name).length === 0) performance.mark(name);
}

const clamped = ({ first, last }: RowRange, count: number): RowRange => ({ first, last: Math.min(last, count - 1) });
