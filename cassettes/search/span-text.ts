/** The text of a span that is embedded, in chunks that a model can take at once. */

/** The plain text of a span with one blank between words and no empty lines. */
export const embeddedText = (plain: string): string =>
  plain
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n[ \n]*/g, '\n')
    .trim();

/** Chunks of at most `most` UTF-16 units, cut where a paragraph, a sentence or a word ends. */
export function chunksOf(text: string, most: number): string[] {
  const chunks: string[] = [];
  let rest = text;
  while (rest.length > most) {
    const at = cutIn(rest, most);
    chunks.push(rest.slice(0, at).trim());
    rest = rest.slice(at).trim();
  }
  return [...chunks, rest].filter((chunk) => chunk !== '');
}

/** The position of the cut: in the second half, as late as possible. */
function cutIn(text: string, most: number): number {
  const head = text.slice(0, most);
  for (const end of ['\n', '. ', ' ']) {
    const at = head.lastIndexOf(end);
    if (at >= most / 2) return at + end.length;
  }
  const last = head.charCodeAt(most - 1);
  return last >= 0xd800 && last <= 0xdbff ? most - 1 : most; // never between the halves of one character
}

const SNIPPET = 280;

/** The beginning of a chunk, cut between characters. */
export const snippetOf = (chunk: string): string => {
  const line = chunk.replace(/\s+/g, ' ');
  return line.length <= SNIPPET ? line : `${[...line.slice(0, 2 * SNIPPET)].slice(0, SNIPPET).join('')}…`;
};
