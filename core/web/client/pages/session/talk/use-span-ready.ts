/** Marks the moment in which the span that the address names is in view with its text. */
import { effect } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { type OutlineColumns, spanIndex } from '../../../store/outline-columns.ts';
import type { SpanWindow } from '../../../store/span-window.ts';
import type { Folds } from './folds.ts';
import type { TalkRows } from './talk-rows.ts';
import { isReady, markOnce, type RowRange } from './use-talk-texts.ts';

type Input = {
  columns: OutlineColumns;
  rows: TalkRows;
  folds: Folds;
  texts: SpanWindow;
  sought: string | null;
  range: RowRange;
};

export function useSpanReady({ columns, rows, folds, texts, sought, range }: Input): void {
  useEffect(
    () =>
      effect(() => {
        if (sought === null) return;
        const row = rows.rowOf[spanIndex(columns, '', sought)] ?? -1;
        if (row < range.first || row > range.last || row < 0) return;
        if (isReady(columns, rows, folds, texts, row)) markOnce('svc:span-ready');
      }),
    [columns, rows, sought, range.first, range.last],
  );
}
