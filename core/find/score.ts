/** How well a text answers a query, and which places of it show that. */
import type { z } from '@hono/zod-openapi';
import type { FindMatch } from '../model/find.ts';
import { anyOfPattern, matchAt } from './matches.ts';
import type { TextQuery } from './query.ts';
import type { PlacedText } from './span-texts.ts';

type Match = z.infer<typeof FindMatch>;

/** `score`: 3 and more for the text as it was sought, 2 for all of its words, less for parts of words, and for some of them. */
export type Scored = {
  score: number;
  matches: Match[];
  /** Those of the query's words that the texts have. */
  words: readonly string[];
};

const MOST_MATCHES = 3;
const MOST_COUNTED = 200; // of each word
const MOST_LOOKED_AT = 20_000; // places of all words
const SHORT = 3; // letters; a shorter word stands in most others, and says nothing there

const LEVEL = { exact: 3, words: 2, parts: 1.5 };

/** Scores the texts that a span has in one place. null: none of them has anything of the query. */
export function scoreOf(query: TextQuery, texts: readonly PlacedText[]): Scored | null {
  const characters = texts.reduce((sum, { text }) => sum + text.length, 0);
  const matches: Match[] = [];
  let exact = 0;
  let aligned = false;
  for (const placed of texts) {
    for (const found of placed.text.matchAll(query.exact)) {
      exact += 1;
      aligned ||= isAligned(placed.text, found.index, found[0].length);
      if (matches.length < MOST_MATCHES) matches.push(shown(placed, found.index, found[0].length));
      if (exact >= MOST_COUNTED) break;
    }
    if (exact >= MOST_COUNTED) break;
  }
  if (exact > 0)
    return {
      score: LEVEL.exact + (aligned ? 0.5 : 0) + density(exact, characters),
      matches,
      words: query.words.map(({ text }) => text),
    };
  return wordsScore(query, texts, characters);
}

function wordsScore(query: TextQuery, texts: readonly PlacedText[], characters: number): Scored | null {
  if (query.words.length === 0) return null;
  const pattern = anyOfPattern(query.words.map(({ text }) => text));
  const short = new Set(query.words.flatMap(({ text, cjk }) => (cjk || text.length >= SHORT ? [] : [text])));
  const found = new Map<string, { whole: boolean; match: Match; count: number }>();
  let lookedAt = 0;
  let nearest = Number.POSITIVE_INFINITY;
  for (const placed of texts) {
    const last = new Map<string, number>();
    for (const { 0: matched, index } of placed.text.matchAll(pattern)) {
      if (++lookedAt > MOST_LOOKED_AT) break;
      const word = matched.toLowerCase().normalize('NFC');
      const whole = isAligned(placed.text, index, matched.length);
      if (!whole && short.has(word)) continue;
      const before = found.get(word);
      const count = Math.min((before?.count ?? 0) + 1, MOST_COUNTED);
      if (before && (before.whole || !whole)) before.count = count;
      else found.set(word, { whole, count, match: shown(placed, index, matched.length) });
      last.set(word, index);
      if (last.size === query.words.length) nearest = Math.min(nearest, index - Math.min(...last.values()));
    }
  }
  if (found.size === 0) return null;
  const counted = [...found.values()].reduce((sum, { count }) => sum + count, 0);
  const all = found.size >= query.words.length;
  const whole = [...found.values()].filter((one) => one.whole).length;
  const level = all
    ? whole === found.size
      ? LEVEL.words
      : LEVEL.parts
    : weightOf([...found.keys()]) / weightOf(query.words.map(({ text }) => text));
  const near = nearest === Number.POSITIVE_INFINITY ? 0 : 0.4 / (1 + nearest / 200);
  const matches = [...found.values()].map(({ match }) => match).slice(0, MOST_MATCHES);
  return { score: level + near + density(counted, characters), matches, words: [...found.keys()] };
}

/** A long word says more than a short one. */
const weightOf = (words: readonly string[]): number => words.reduce((sum, word) => sum + Math.min(word.length, 12), 0);

/** Below 0.1: how much of the text it is. */
const density = (count: number, characters: number): number => (0.1 * count) / (count + 1 + characters / 1_000);

const shown = ({ text, side, block, offset }: PlacedText, index: number, length: number): Match => ({
  side,
  block,
  ...matchAt(text, index, length, offset),
});

const LETTER = /[\p{L}\p{N}]/u;

/** Whether no word goes on before or after it. The parts of identifiers count as words. */
function isAligned(text: string, start: number, length: number): boolean {
  return isBoundary(text, start) && isBoundary(text, start + length);
}

function isBoundary(text: string, at: number): boolean {
  const [before = '', after = ''] = [text[at - 1], text[at]];
  if (!LETTER.test(before) || !LETTER.test(after)) return true;
  return /\p{Ll}|\p{N}/u.test(before) && /\p{Lu}/u.test(after);
}
