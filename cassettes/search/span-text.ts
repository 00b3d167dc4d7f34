/** The text of a span that is embedded, in chunks that a model can take at once. */

/** The plain text of a span with one blank between words and no empty lines. */
export const embeddedText = (plain: string): string =>
  plain
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n[ \n]*/g, '\n')
    .trim();

/**
 * Chunks that weigh at most `most`, cut where a paragraph, a sentence or a word ends. A UTF-16 unit of Latin text weighs 1, since a
 * token has two such letters at least in what is written in words; of another script 2, since each may be a token; and a syllable
 * of Hangul 6, since tokenizers take it apart into up to three letters.
 */
export function chunksOf(text: string, most: number): string[] {
  const chunks: string[] = [];
  for (let rest = text; rest !== ''; ) {
    const fits = fittingIn(rest, most);
    const at = fits === rest.length ? fits : cutIn(rest, fits);
    chunks.push(rest.slice(0, at).trim());
    rest = rest.slice(at).trim();
  }
  return chunks.filter((chunk) => chunk !== '');
}

/** Whether `chunksOf` cuts a text otherwise than after so many units. */
export const isHeavy = (text: string, most: number): boolean => HEAVY.test(text) && fittingIn(text, most) < text.length;

/** Beside Latin letters and signs; of a character beyond U+FFFF each half weighs 1. */
const HEAVY = /[^\0-\u024f\u1e00-\u1eff\u2000-\u2bff\ud800-\udfff]/;

/** How many units of a text, from its beginning, weigh at most so much; one at least. */
function fittingIn(text: string, most: number): number {
  let weight = 0;
  for (let at = 0; at < text.length; at += 1) {
    weight += weightOf(text, at);
    if (weight > most) return Math.max(1, at);
  }
  return text.length;
}

function weightOf(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  if (unit >= 0xac00 && unit <= 0xd7a3) return 6;
  return unit > 0x24f && HEAVY.test(text.charAt(at)) ? 2 : 1;
}

/** The position of the cut: in the second half of the first `most` units, as late as possible. */
export function cutIn(text: string, most: number): number {
  const head = text.slice(0, most);
  for (const end of ['\n', '. ', '\u3002', ' ']) {
    const at = head.lastIndexOf(end);
    if (at >= most / 2) return at + end.length;
  }
  const last = head.charCodeAt(most - 1);
  return last >= 0xd800 && last <= 0xdbff && most > 1 ? most - 1 : most; // never between the halves of one character
}

const SNIPPET = 280;

/** The beginning of a chunk, cut between characters. */
export const snippetOf = (chunk: string): string => {
  const line = chunk.replace(/\s+/g, ' ');
  return line.length <= SNIPPET ? line : `${[...line.slice(0, 2 * SNIPPET)].slice(0, SNIPPET).join('')}…`;
};
