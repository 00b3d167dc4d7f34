/** The rows of a long text: its lines, of which long ones are cut into several, so that a body of megabytes on one line can be scrolled. */

export type TextRow = { text: string; line: number; continues: boolean };

export type TextRows = {
  count: number;
  row: (index: number) => TextRow;
  rowAt: (offset: number) => number; // of a character
};

const LONGEST = 400; // characters in a row

export function textRows(text: string, longest = LONGEST): TextRows {
  const starts: number[] = [];
  const lines: number[] = [];
  let line = 1;
  for (let start = 0; start <= text.length; line++) {
    const newline = text.indexOf('\n', start);
    const end = newline < 0 ? text.length : newline;
    for (let at = start; at === start || at < end; at = cut(text, at, longest)) {
      starts.push(at);
      lines.push(line);
    }
    if (newline < 0) break;
    start = newline + 1;
    if (start === text.length) break; // the last newline ends the last line
  }
  const endOf = (index: number): number => starts[index + 1] ?? text.length;
  return {
    count: starts.length,
    row: (index) => ({
      text: text.slice(starts[index] ?? 0, endOf(index)).replace(/\r?\n$/, ''),
      line: lines[index] ?? 0,
      continues: lines[index + 1] === lines[index],
    }),
    rowAt: (offset) => {
      let [low, high] = [0, starts.length];
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if ((starts[middle] ?? 0) <= offset) low = middle;
        else high = middle;
      }
      return low;
    },
  };
}

/** Where the next row begins, never between the halves of a character. */
function cut(text: string, at: number, longest: number): number {
  const next = at + longest;
  const unit = text.charCodeAt(next);
  return unit >= 0xdc00 && unit <= 0xdfff ? next + 1 : next;
}

const MOST_HITS = 10_000;

/** Where a text holds some words, whatever their case where they are all in lower case. */
export function hitsIn(text: string, words: string): number[] {
  const hits: number[] = [];
  if (words === '') return hits;
  const searched = words === words.toLowerCase() ? lowered(text) : text;
  for (
    let at = searched.indexOf(words);
    at >= 0 && hits.length < MOST_HITS;
    at = searched.indexOf(words, at + words.length)
  )
    hits.push(at);
  return hits;
}

/** In lower case where that has the same length, which it lacks for few characters such as `İ`. */
function lowered(text: string): string {
  const lower = text.toLowerCase();
  return lower.length === text.length ? lower : text;
}
