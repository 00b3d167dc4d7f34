/** The keys of a tree, as people who use no pointer know them: arrows move, open and close; Enter selects. */
import { moveOf } from '../../../key-strokes.ts';
import type { TimeRows } from './time-rows.ts';

type Tree = {
  rows: TimeRows;
  active: number;
  goTo: (row: number) => void;
  toggle: (key: string) => void;
  open: () => void;
};

const PAGE = 15; // rows

export function treeKey(event: KeyboardEvent, { rows, active, goTo, toggle, open }: Tree): void {
  if (event.shiftKey) return;
  const { folded, key, level, type } = rows.row(active);
  const last = rows.count - 1;
  const moves: Record<string, () => void> = {
    ArrowDown: () => goTo(active + 1),
    ArrowUp: () => goTo(active - 1),
    PageDown: () => goTo(Math.min(active + PAGE, last)),
    PageUp: () => goTo(Math.max(active - PAGE, 0)),
    Home: () => goTo(0),
    End: () => goTo(last),
    ArrowRight: () => (folded ? toggle(key) : folded === false && goTo(active + 1)),
    ArrowLeft: () => (folded === false ? toggle(key) : goTo(above(rows, active, level))),
    Enter: () => (type === 'run' ? toggle(key) : open()),
    ' ': () => (folded === null ? open() : toggle(key)),
  };
  const move = moveOf(moves, event);
  if (!move) return;
  event.preventDefault();
  move();
}

/** The row that a row is below; the row itself at the top. */
function above(rows: TimeRows, active: number, level: number): number {
  for (let row = active - 1; row >= 0; row--) if (rows.row(row).level < level) return row;
  return active;
}
