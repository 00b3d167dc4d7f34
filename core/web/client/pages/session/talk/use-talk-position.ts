/** Where the reader is in Talk: the focused row, the span that the address names, and moves from row to row. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { useAddress } from '../../../address.ts';
import { showToast } from '../../../parts/toast.tsx';
import type { VirtualListHandle } from '../../../parts/virtual-list.tsx';
import { type OutlineColumns, spanIndex } from '../../../store/outline-columns.ts';
import { isFoundIn } from '../find/found.ts';
import type { SessionFind } from '../find/session-find.ts';
import type { Folds } from './folds.ts';
import { type JumpTarget, jumpFrom } from './row-jumps.ts';
import { rowKey } from './talk-row.tsx';
import type { TalkRows } from './talk-rows.ts';

type Input = {
  columns: OutlineColumns;
  rows: TalkRows;
  folds: Folds;
  thread: string;
  isComplete: boolean;
  find: SessionFind;
};

export function useTalkPosition({ columns, rows, folds, thread, isComplete, find }: Input) {
  const handle = useRef<VirtualListHandle>(null);
  const { query, setQuery } = useAddress();
  const [focused, setFocused] = useState<{ key: string; row: number } | null>(null);
  const own = useRef<string | null>(null); // the span that the address has since the reader went there by hand
  const focusing = useRef(0); // the frame of a row that is to have the focus: the latest one only
  const sought = query.get('span');
  const focusedRow = focused === null ? -1 : rowWith(focused.key, focused.row);

  const show = (row: number, align: 'auto' | 'center' = 'auto', moveFocus = true) => {
    if (row < 0 || row >= rows.count) return false;
    setFocused({ key: rowKey({ columns, rows }, row), row });
    handle.current?.scrollToIndex(row, { align });
    cancelAnimationFrame(focusing.current);
    if (moveFocus) focusSoon(row);
    return true;
  };
  /** The reader is at a row: the address follows, so that a reload, Back and a copied link lead there. */
  const noteFocus = (row: number) => {
    const key = rowKey({ columns, rows }, row);
    if (focused?.key === key) return;
    setFocused({ key, row });
    const span = spanOf(row);
    if (span === null || span === sought) return;
    own.current = span;
    setQuery({ span }, { replace: true });
  };
  const goTo = (span: number, moveFocus = true) => {
    const name = columns.names[columns.spans.thread[span] ?? -1] ?? '';
    const call = columns.names[columns.spans.call_kind[span] ?? -1] ?? '';
    if (call.startsWith('offshoot:') && call !== 'offshoot:compaction') folds.beside.value = true;
    const row = rows.rowOf[span] ?? -1;
    const isHere = row >= 0 && (rows.kind[row] !== 'agent' || rows.of[row] === span);
    if (isHere && rows.kind[row] !== 'beside') return show(row, 'center', moveFocus);
    own.current = null;
    setQuery({ span: columns.spans.span_id[span] ?? null, thread: name === thread ? null : name });
    return true;
  };
  useEffect(() => {
    if (sought === null) own.current = null; // in another thread: who comes back is led to the row again
    if (sought === null || sought === own.current) return;
    if (find.at.peek() !== null && isFoundIn(query.get('hit'), sought)) {
      own.current = sought; // find leads there, to the text itself; the reader may be at the next one by now
      return;
    }
    const span = spanIndex(columns, '', sought);
    if (span < 0) {
      if (isComplete) showToast('The span that the address names is not in this session any more');
      if (isComplete) own.current = sought;
      return;
    }
    if (handle.current === null) return;
    if (goTo(span) && (rows.rowOf[span] ?? -1) >= 0) own.current = sought;
  }, [sought, columns, rows, isComplete]);

  return {
    ...{ handle, focusedRow, show, noteFocus, goTo, sought },
    jump: (target: JumpTarget, step: 1 | -1) => {
      const from = focusedRow >= 0 ? focusedRow : (handle.current?.range()?.first ?? 0) - (step > 0 ? 1 : 0);
      return show(jumpFrom(columns, rows, from, step, target), target === 'any' ? 'auto' : 'center');
    },
  };

  /** The row is in the document once the list has scrolled to it. */
  function focusSoon(row: number, attempts = 10): void {
    focusing.current = requestAnimationFrame(() => {
      const element = handle.current?.element()?.querySelector(`[data-index="${row}"]`);
      if (element instanceof HTMLElement) element.focus({ preventScroll: true });
      else if (attempts > 0) focusSoon(row, attempts - 1);
    });
  }

  function spanOf(row: number): string | null {
    const kind = rows.kind[row];
    return kind === 'trace' || kind === 'beside' ? null : (columns.spans.span_id[rows.of[row] ?? -1] ?? null);
  }

  /** The row with a key: rows come before it and go, but rarely far. */
  function rowWith(key: string, near: number): number {
    const at = { columns, rows };
    for (let distance = 0; distance <= rows.count; distance++) {
      if (near - distance >= 0 && near - distance < rows.count && rowKey(at, near - distance) === key)
        return near - distance;
      if (near + distance < rows.count && rowKey(at, near + distance) === key) return near + distance;
    }
    return -1;
  }
}
