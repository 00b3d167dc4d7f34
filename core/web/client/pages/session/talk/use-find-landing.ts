/** Goes to what was found: opens what hides it, and scrolls until it is in view. What is found and on screen is marked. */
import { useEffect, useMemo, useReducer, useRef } from 'preact/hooks';
import type { SessionMatch } from '../../../../../model/find.ts';
import { type OutlineColumns, spanIndex } from '../../../store/outline-columns.ts';
import type { FoundAt } from '../find/session-find.ts';
import { useSession } from '../session-store.ts';
import { blockKey } from './block-key.ts';
import { foundByBlock, markFound, unmark } from './find-marks.ts';
import type { FoldKind, Folds } from './folds.ts';
import { BY_HAND, isInside, keepInView } from './keep-in-view.ts';
import type { RowKind, TalkRows } from './talk-rows.ts';
import { wantedSpan } from './wanted-texts.ts';

type Input = {
  columns: OutlineColumns;
  rows: TalkRows;
  folds: Folds;
  list: () => HTMLElement | null;
  show: (row: number, align: 'center', moveFocus: boolean) => boolean;
  goTo: (span: number, moveFocus: boolean) => boolean;
};

export function useFindLanding({ columns, rows, folds, list, show, goTo }: Input): void {
  const { find, texts } = useSession();
  const state = find.state.value;
  const at = find.at.value;
  const byBlock = useMemo(foundByBlock, [state?.found]);
  const settled = useRef<{ at: FoundAt; shown: boolean } | null>(null); // what was gone to last, and need not be again
  const [, again] = useReducer<number, undefined>((times) => times + 1, 0);
  byBlock.add(state?.found ?? []);

  const mark = (): Range | null => {
    const root = list();
    return root === null ? null : markFound(root, byBlock.of, at?.found ?? null);
  };
  useEffect(() => {
    const root = list();
    if (root === null || state === null || state.found.length === 0) return unmark();
    const key = at === null ? '' : blockKey(at.found.span_id, at.found.side, at.found.block);
    const block = () => root.querySelector(`[data-text="${key}"]`);
    let isFormatted = false;
    /** What was gone to may be formatted since: then it is elsewhere, or not there as it was recorded. */
    const look = () => {
      const range = mark();
      if (!settled.current?.shown) return;
      const isGone = range === null && block() !== null && !folds.plain.peek().has(key);
      if (!isGone && !(isFormatted && range !== null && !isInside(root, range.getBoundingClientRect()))) return;
      settled.current = null;
      again(undefined);
    };
    let frame = requestAnimationFrame(look);
    const observer = new MutationObserver((changes) => {
      isFormatted = changes.some(({ target }) => block()?.contains(target));
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(look);
    });
    const leave = () => {
      if (settled.current) settled.current.shown = false; // the reader goes on by hand
    };
    observer.observe(root, { childList: true, characterData: true, subtree: true });
    for (const event of BY_HAND) root.addEventListener(event, leave, { passive: true });
    return () => {
      observer.disconnect();
      cancelAnimationFrame(frame);
      for (const event of BY_HAND) root.removeEventListener(event, leave);
    };
  }, [state, at]);
  useEffect(() => unmark, []);

  useEffect(() => {
    if (at === null || settled.current?.at === at) return;
    const { found } = at;
    const span = spanIndex(columns, found.trace_id, found.span_id);
    if (span < 0) return; // the outline goes on
    const moveFocus = document.activeElement?.closest('.find-bar') == null; // who types into the bar stays there
    const row = rowOf(rows, columns, span, found);
    if (row < 0) {
      goTo(span, moveFocus); // in another thread, or among the calls beside: its rows come then
      return;
    }
    if (found.side === 'prompt') {
      show(row, 'center', moveFocus); // its call; the bar shows the prompt
      settled.current = { at, shown: false };
      return;
    }
    openRow(folds, columns, rows, row, span);
    const key = blockKey(found.span_id, found.side, found.block);
    folds.reveal.value = { key, start: found.start, match: found.match };
    show(row, 'center', moveFocus);
    return keepInView({
      list,
      find: mark,
      otherwise: () => list()?.querySelector(`[data-index="${row}"]`) ?? null,
      /** Formatted, or shortened, it does not have the text as it was recorded. */
      unfound: async (attempt) => {
        if (attempt === 0) await texts.readWhole(wantedSpan(columns, span)).catch(() => undefined);
        else if (attempt === 1) folds.plain.value = new Set(folds.plain.value).add(key);
        return attempt < 2;
      },
      settled: (range) => {
        settled.current = { at, shown: range !== null };
        performance.mark('svc:find-shown', { detail: range !== null });
      },
    });
  }, [at, columns, rows, settled.current]);
}

/** The row that shows the side of a step in which something was found; -1: there is none yet. */
function rowOf(rows: TalkRows, columns: OutlineColumns, span: number, { side }: SessionMatch): number {
  const row = rows.rowOf[span] ?? -1;
  const kind = rows.kind[row];
  if (row < 0 || kind === 'beside' || (kind === 'agent' && rows.of[row] !== span)) return -1;
  if (side !== 'input' || columns.names[columns.spans.kind[span] ?? -1] !== 'llm') return row;
  for (let before = row; before >= 0; before--)
    if (rows.kind[before] === 'prompt' && rows.of[before] === span) return before;
  return row;
}

const FOLDS: Partial<Record<RowKind, FoldKind>> = { tool: 'tool', context: 'context', compaction: 'compaction' };

/** Opens the fold that hides the step in its row. */
function openRow(folds: Folds, { spans }: OutlineColumns, rows: TalkRows, row: number, span: number): void {
  const of = rows.of[row] ?? -1;
  const kind = rows.kind[row] === 'step' && of !== span ? 'tries' : FOLDS[rows.kind[row] ?? 'trace'];
  const id = spans.span_id[of] ?? '';
  if (kind && !folds.isOpen(kind, id)) folds.toggle(kind, id);
}
