/** Where a recorded text stands in what is shown of it. A format leaves some characters out, and breaks lines elsewhere. */

export type TextPlace = { start: number; end: number };

/** All places in order; where the text is nowhere as it is, those where it is but for blanks. */
export function textPlaces(shown: string, text: string): TextPlace[] {
  const exact = occurrences(shown, text);
  if (exact.length > 0) return exact;
  const sought = text.replace(BLANKS, '');
  if (sought === '') return [];
  const { letters, at } = squeezed(shown);
  return occurrences(letters, sought).map(({ start, end }) => ({ start: at[start] ?? 0, end: (at[end - 1] ?? 0) + 1 }));
}

const BLANKS = /\s+/g;
const MOST = 1_000;

function occurrences(shown: string, text: string): TextPlace[] {
  const places: TextPlace[] = [];
  for (
    let start = shown.indexOf(text);
    start >= 0 && places.length < MOST;
    start = shown.indexOf(text, start + text.length)
  )
    places.push({ start, end: start + text.length });
  return places;
}

/** Without blanks, and where each character was. */
function squeezed(shown: string): { letters: string; at: Int32Array } {
  const at = new Int32Array(shown.length);
  let letters = '';
  for (const { 0: run, index } of shown.matchAll(/\S+/g)) {
    for (let n = 0; n < run.length; n++) at[letters.length + n] = index + n;
    letters += run;
  }
  return { letters, at };
}

/**
 * Which of the places is the n-th one in the recorded text: the one with the most of what stood around it there, and of equal ones the
 * n-th. (What is shown may be a part of the text, or have more of it than was recorded.)
 */
export function nthPlace(
  shown: string,
  places: readonly TextPlace[],
  { before, after, n }: { before: string; after: string; n: number },
): number {
  const [left, right] = [before.replace(BLANKS, ''), after.replace(BLANKS, '')];
  let best = -1;
  let most = -1;
  for (const [index, { start, end }] of places.entries()) {
    const near = shown.slice(Math.max(0, start - 200), start).replace(BLANKS, '');
    const next = shown.slice(end, end + 200).replace(BLANKS, '');
    const common = commonEnd(near, left) + commonStart(next, right);
    if (common > most || (common === most && Math.abs(index - n) < Math.abs(best - n))) {
      most = common;
      best = index;
    }
  }
  return best;
}

function commonStart(a: string, b: string): number {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length++;
  return length;
}

function commonEnd(a: string, b: string): number {
  let length = 0;
  while (length < a.length && length < b.length && a.at(-1 - length) === b.at(-1 - length)) length++;
  return length;
}
