/** Where a text stands in another, in letters of either case, composed or not, and what is around it. */
import type { z } from '@hono/zod-openapi';
import type { FindMatch } from '../model/find.ts';

const AROUND = 80;

/** Matches a text as it is written, in any case, in either of Unicode's forms. What matches may be longer than the text. */
export const literalPattern = (text: string): RegExp => new RegExp(literal(text), 'giu');

/** Matches each of the texts. */
export const anyOfPattern = (texts: readonly string[]): RegExp =>
  new RegExp(
    [...texts]
      .sort((a, b) => b.length - a.length)
      .map(literal)
      .join('|'),
    'giu',
  );

/** A file name from macOS is decomposed, what people type is composed; a text may have both. */
function literal(text: string): string {
  const composed = text.normalize('NFC');
  const either = Array.from(composed, (character) => {
    const decomposed = character.normalize('NFD');
    return decomposed === character ? escaped(character) : `(?:${escaped(character)}|${escaped(decomposed)})`;
  }).join('');
  return composed === text ? either : `(?:${either}|${escaped(text)})`; // of some characters neither form is the character itself
}

/** A lone half of a character would be read as a range of a pattern, or refused. */
const escaped = (text: string): string =>
  text.replace(/[\\^$.*+?()[\]{}|/-]/g, (character) => ESCAPED[character] ?? `\\${character}`);
const ESCAPED: Readonly<Record<string, string>> = { '-': '\\x2d' };

type Match = z.infer<typeof FindMatch>;

/** What stands around a place of a text, cut between characters. @param offset of the text within its block */
export function matchAt(
  text: string,
  start: number,
  length: number,
  offset = 0,
): Pick<Match, 'start' | 'end' | 'before' | 'match' | 'after'> {
  const end = start + length;
  return {
    start: start + offset,
    end: end + offset,
    before: text.slice(isLow(text, start - AROUND) ? start - AROUND + 1 : Math.max(0, start - AROUND), start),
    match: text.slice(start, end),
    after: text.slice(end, isLow(text, end + AROUND) ? end + AROUND - 1 : end + AROUND),
  };
}

/**
 * The places of a pattern in a text, one after the other as they are taken.
 * @param begin of the search, in UTF-16 units: nothing before it is matched. @param offset of the text within its block
 */
export function* matchesFrom(
  pattern: RegExp,
  text: string,
  { begin = 0, offset = 0 }: { begin?: number; offset?: number },
): Generator<ReturnType<typeof matchAt>, void> {
  pattern.lastIndex = begin;
  for (const { 0: found, index } of text.matchAll(pattern)) yield matchAt(text, index, found.length, offset);
}

const isLow = (text: string, at: number): boolean => {
  const unit = at > 0 && at < text.length ? text.charCodeAt(at) : 0;
  return unit >= 0xdc00 && unit <= 0xdfff;
};
