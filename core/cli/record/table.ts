/** Rows of text in aligned columns that fit the terminal. */
import stringWidth from 'fast-string-width';
import pc from 'picocolors';
import { plain } from '../units.ts';

export type TableColumn<Row> = {
  title: string;
  /** May be foreign text: it is made safe here. */
  text: (row: Row) => string;
  align?: 'right';
  /** Takes the room that the others leave, and is cut to it. One column at most. */
  fills?: true;
  /** Left out where the terminal is too narrow, the highest first. */
  drops?: number;
  colour?: (text: string, row: Row) => string;
};

const GAP = '  ';
/** Other columns are left out before the filling one gets narrower. */
const LEAST_FILL = 30;

/** @param width of the terminal in cells; undefined: nothing is cut */
export function table<Row>(
  rows: readonly Row[],
  wanted: readonly TableColumn<Row>[],
  width: number | undefined,
): string {
  const columns = width === undefined ? wanted : fitting(rows, wanted, width);
  const texts = rows.map((row) => columns.map(({ text }) => plain(text(row))));
  const widths = columns.map((column) => widthOf(rows, column));
  const filling = columns.findIndex(({ fills }) => fills);
  if (width !== undefined && filling !== -1) {
    const room = width - widths.reduce((sum, one, i) => sum + (i === filling ? 0 : one + GAP.length), 0);
    widths[filling] = Math.max(1, Math.min(widths[filling] ?? 0, room));
  }
  const line = (cells: readonly string[], paint: (text: string, column: number) => string) =>
    columns
      .map(({ align }, i) => {
        const cell = shortened(cells[i] ?? '', widths[i] ?? 0);
        const blanks = ' '.repeat(Math.max(0, (widths[i] ?? 0) - stringWidth(cell)));
        return align === 'right' ? blanks + paint(cell, i) : paint(cell, i) + (i === columns.length - 1 ? '' : blanks);
      })
      .join(GAP)
      .trimEnd();
  const head = line(
    columns.map(({ title }) => title),
    (text) => pc.bold(text),
  );
  return [
    head,
    ...rows.map((row, r) => line(texts[r] ?? [], (text, i) => columns[i]?.colour?.(text, row) ?? text)),
    '',
  ].join('\n');
}

const widthOf = <Row>(rows: readonly Row[], { title, text }: TableColumn<Row>): number =>
  rows.reduce((most, row) => Math.max(most, stringWidth(plain(text(row)))), title.length);

/** The columns that leave enough room for the one that fills. */
function fitting<Row>(
  rows: readonly Row[],
  wanted: readonly TableColumn<Row>[],
  width: number,
): readonly TableColumn<Row>[] {
  let columns = wanted;
  for (;;) {
    const taken = columns.reduce(
      (sum, column) => sum + (column.fills ? LEAST_FILL : widthOf(rows, column)) + GAP.length,
      0,
    );
    const last = columns.reduce((most, { drops = 0 }) => Math.max(most, drops), 0);
    if (taken - GAP.length <= width || last === 0) return columns;
    columns = columns.filter(({ drops }) => drops !== last);
  }
}

/** Latin, Greek and Cyrillic letters and their punctuation: each character is one cell. */
const ONE_CELL_EACH = /^[\x20-\x7e\xa1-\xac\xae-\u02ff\u0370-\u0482\u048a-\u052f\u2010-\u2027]*$/;

/** A text in at most so many cells, with `…` where it was cut. */
export function shortened(text: string, cells: number): string {
  if (stringWidth(text) <= cells) return text;
  return `${beginning(text, cells - 1).trimEnd()}…`;
}

let graphemes: Intl.Segmenter | undefined; // to make it takes as long as all else that a command prints

function beginning(text: string, cells: number): string {
  if (ONE_CELL_EACH.test(text)) return text.slice(0, Math.max(0, cells));
  let kept = '';
  let taken = 0;
  graphemes ??= new Intl.Segmenter();
  for (const { segment } of graphemes.segment(text)) {
    taken += stringWidth(segment);
    if (taken > cells) break;
    kept += segment;
  }
  return kept;
}
