/** What is looked for: a text, and its words. */
import { literalPattern } from './matches.ts';
import { partOfWord, type Word, wholeWord, wordsOf } from './terms.ts';

export type TextQuery = {
  text: string;
  exact: RegExp;
  /** Each once, composed as Unicode has it (NFC). */
  words: readonly Word[];
  /** The words in each form that the index may have: as they are sought, composed and decomposed. One, where these are the same. */
  spellings: readonly (readonly Word[])[];
};

const MOST_WORDS = 16;
const MOST_TERMS = 32;

export function textQuery(sought: string): TextQuery {
  const text = sought.trim() === '' ? sought : sought.trim();
  const composed = text.normalize('NFC');
  const spellings = [...new Set([text, composed, text.normalize('NFD')])].map(distinctWords);
  return { text, exact: literalPattern(text), words: distinctWords(composed), spellings };
}

const distinctWords = (text: string): Word[] =>
  [...new Map(wordsOf(text).map((word) => [word.text, word])).values()].slice(0, MOST_WORDS);

/** Terms of texts that have all words, each for itself, or `parts`: also as parts of longer words. */
export const allTerms = (words: readonly Word[], parts: boolean): number[] =>
  [...new Set(words.flatMap(parts ? partOfWord : wholeWord))].slice(0, MOST_TERMS);

const MOST_SIGNIFICANT = 6;

/** The words by which a text is found that has only some of them: the longest, which tend to be rare. */
export function significantWords(words: readonly Word[]): Word[] {
  const significant = words.filter(({ text, cjk }) => cjk || (text.length > 2 && !COMMON.has(text)));
  const weight = ({ text, cjk }: Word) => text.length * (cjk ? CJK_WEIGHT : 1);
  return (significant.length > 0 ? significant : [...words])
    .sort((a, b) => weight(b) - weight(a))
    .slice(0, MOST_SIGNIFICANT);
}

/** A character of Chinese, Japanese or Korean tells as much as some letters. */
const CJK_WEIGHT = 3;

/** Words of which English texts have many: alone they find nothing. */
const COMMON = new Set(
  'the and for are was were that this these those with from have has had not but you your can could should would what when where which who why how does did will about into there their they them then than its our out all any'.split(
    ' ',
  ),
);
