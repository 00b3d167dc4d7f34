/**
 * The terms under which a text stands in the index: its words, the parts of identifiers, and of each word the runs of three characters,
 * by which parts of words are found; of Chinese, Japanese and Korean each character and each pair. A term is a number of 16 bits, so that
 * the index holds no text, and some share a number: what the index finds is compared with the text itself.
 */

/** Of a text that is indexed; what is beyond can be found by the words before it, or within its session. */
export const INDEXED_CHARACTERS = 32_768;
/** Texts are indexed in pieces of this many characters, each of which begins with the end of the one before. */
const PIECE = { characters: 8_192, overlap: 256 };

/** Of a word, which might be a megabyte of base64. */
const WORD_CHARACTERS = 128;

const WORDS = /[\p{L}\p{M}\p{N}]+/gu;
const CJK = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}ー々';
const RUNS = new RegExp(`[${CJK}]+|[^${CJK}]+`, 'gu');
const IS_CJK = new RegExp(`^[${CJK}]`, 'u');
/** The parts of `readFileSync2` and `HTTPServer`. */
const PARTS = /\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{M}]+|\p{N}+/gu;
const MIXED = /[\p{Ll}\p{N}]\p{Lu}|\p{Lu}\p{Lu}\p{Ll}|\p{L}\p{N}|\p{N}\p{L}/u;

/** One run of letters and digits, in small letters. `cjk`: of a script that is written without blanks. */
export type Word = { text: string; cjk: boolean };

/** The pieces of a text that are indexed one by one. */
export function piecesOf(text: string): string[] {
  const indexed = text.slice(0, INDEXED_CHARACTERS);
  const pieces: string[] = [];
  for (let at = 0; at < indexed.length; at += PIECE.characters - PIECE.overlap) {
    pieces.push(indexed.slice(at, at + PIECE.characters));
    if (at + PIECE.characters >= indexed.length) break;
  }
  return pieces;
}

/** The words of a text in their order. */
export const wordsOf = (text: string): Word[] =>
  (text.match(WORDS) ?? []).flatMap((word) =>
    (word.match(RUNS) ?? []).map((run) => ({ text: run.toLowerCase(), cjk: IS_CJK.test(run) })),
  );

/** All terms of a text, each once, in ascending order. */
export function termsOf(text: string): number[] {
  const terms = new Set<number>();
  const seen = new Set<string>();
  for (const [word] of text.matchAll(WORDS)) {
    if (seen.has(word)) continue;
    seen.add(word);
    for (const run of word.match(RUNS) ?? []) {
      if (IS_CJK.test(run)) {
        for (const term of cjkTerms(run, 1)) terms.add(term);
        continue;
      }
      const lower = run.toLowerCase();
      terms.add(wordTerm(lower));
      for (const term of gramTerms(lower)) terms.add(term);
      if (MIXED.test(run)) for (const [part] of run.matchAll(PARTS)) terms.add(wordTerm(part.toLowerCase()));
    }
  }
  return [...terms].sort((a, b) => a - b);
}

/** The terms that a text which contains the word has: the word for itself, or as part of a longer one. */
export const wholeWord = ({ text, cjk }: Word): number[] =>
  cjk
    ? partOfWord({ text, cjk })
    : text.length < 3
      ? [wordTerm(text)]
      : [wordTerm(text), ...gramTerms(text).slice(0, 2)];

export function partOfWord({ text, cjk }: Word): number[] {
  if (cjk) return cjkTerms(text, [...text].length > 1 ? 2 : 1);
  return text.length < 3 ? [wordTerm(text)] : gramTerms(text);
}

const wordTerm = (word: string): number => hashed(1, word.slice(0, WORD_CHARACTERS));

function gramTerms(word: string): number[] {
  const end = Math.min(word.length, WORD_CHARACTERS) - 2;
  return Array.from({ length: Math.max(0, end) }, (_, at) => hashed(2, word.slice(at, at + 3)));
}

/** @param least 1: each character as well, for words of one */
function cjkTerms(run: string, least: 1 | 2): number[] {
  const characters = [...run];
  return [
    ...(least === 1 ? characters.map((character) => hashed(3, character)) : []),
    ...characters.slice(1).map((character, i) => hashed(3, `${characters[i]}${character}`)),
  ];
}

/** The hour and the day of an instant, as terms: by them the index finds what is new among what is frequent. @param at in UTC, ISO 8601 */
export const timeTerms = (at: string): number[] => [hashed(4, at.slice(0, HOUR)), hashed(4, at.slice(0, DAY))];
const HOUR = 13;
const DAY = 10;

/** So many of them are cheaper to look up than what they leave out. */
const MOST_SPANNED = 100;

/** A text that began between the two has one of these; null: it is too long for that. */
export function spannedTimes(from: string, to: string): number[] | null {
  for (const [characters, ms] of [
    [HOUR, 3_600_000],
    [DAY, 86_400_000],
  ] as const) {
    const last = Math.floor(Date.parse(to) / ms);
    const count = last - Math.floor(Date.parse(from) / ms) + 1;
    if (count > 0 && count <= MOST_SPANNED)
      return Array.from({ length: count }, (_, i) =>
        hashed(4, new Date((last - i) * ms).toISOString().slice(0, characters)),
      );
  }
  return null;
}

/** FNV-1a, folded to the range of a smallint. */
function hashed(kind: number, text: string): number {
  let hash = (0x811c9dc5 ^ kind) >>> 0;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return ((hash ^ (hash >>> 16)) & 0xffff) - 0x8000;
}
