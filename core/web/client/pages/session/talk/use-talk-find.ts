/** Find in Talk: what is sought, the steps that hold it, and the way from one to the next. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import { outlineIndex } from '../../../store/outline-index.ts';
import type { SpanWindow } from '../../../store/span-window.ts';
import type { FoldKind, Folds } from './folds.ts';
import { highlight } from './highlight.ts';
import { spansWith } from './talk-find.ts';
import type { RowKind, TalkRows } from './talk-rows.ts';
import { wantedSpan } from './wanted-texts.ts';

type Input = {
  columns: OutlineColumns;
  rows: TalkRows;
  folds: Folds;
  texts: SpanWindow;
  list: () => Element | null;
  goTo: (span: number, moveFocus: boolean) => boolean;
};

export function useTalkFind({ columns, rows, folds, texts, list, goTo }: Input) {
  const [open, setOpen] = useState(false);
  const [sought, setSought] = useState('');
  const [at, setAt] = useState(-1);
  const { hits, read } = useMemo(() => {
    const index = outlineIndex(columns);
    const order = [...index.traces].flatMap((trace) => [...index.spansOf.of(trace)]);
    let read = 0;
    const textOf = (span: number) => {
      const text = texts.text(wantedSpan(columns, span)).peek();
      if (text?.whole) read++;
      return text?.span;
    };
    return { hits: open ? spansWith(columns, order, textOf, sought) : [], read };
  }, [columns, open, sought, at]);
  useEffect(() => {
    const frame = requestAnimationFrame(() => highlight(list(), open ? sought : ''));
    return () => cancelAnimationFrame(frame);
  });
  const next = (step: 1 | -1): boolean => {
    if (!open || hits.length === 0) return false;
    const to = (Math.max(at, step > 0 ? -1 : 0) + step + hits.length) % hits.length;
    setAt(to);
    const span = hits[to] ?? -1;
    openFold(folds, columns, rows, span);
    goTo(span, false); // who types into the bar stays there
    return true;
  };
  return {
    ...{ open, sought, hits, at, read, next },
    show: () => setOpen(true),
    seek: (words: string) => {
      setSought(words);
      setAt(-1);
    },
    close: () => {
      setOpen(false);
      highlight(list(), '');
    },
  };
}

const FOLDS: Partial<Record<RowKind, FoldKind>> = { tool: 'tool', context: 'context', compaction: 'compaction' };

/** Opens the fold that hides what was found. */
function openFold(folds: Folds, columns: OutlineColumns, rows: TalkRows, span: number): void {
  const row = rows.rowOf[span] ?? -1;
  const kind = FOLDS[rows.kind[row] ?? 'trace'];
  const id = columns.spans.span_id[rows.of[row] ?? -1] ?? '';
  if (kind && !folds.isOpen(kind, id)) folds.toggle(kind, id);
}
