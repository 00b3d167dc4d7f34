/** Which word was meant, where no text has the one that is sought: under which terms it stands in the index, and how near two words are. */
import { partOfWord, type Word, wordsOf } from './terms.ts';

/** A shorter word is near too many others; a longer one is no word that somebody types. */
const CHARACTERS = { least: 6, most: 32 };
/** From this length on two mistakes are allowed. */
const TWO_MISTAKES = 8;

/** Whether another word may have been meant: of a number, of an id, and of a script without blanks that cannot be said. */
const maybeMisspelt = ({ text, cjk }: Word): boolean =>
  !cjk && !/\p{N}/u.test(text) && text.length >= CHARACTERS.least && text.length <= CHARACTERS.most;

/**
 * The terms of texts that have the word with a mistake in one place, by place: all its runs of three characters but those that the
 * mistake spoils. Empty: it is no word that can be amended.
 */
export function termsBesideMistake(word: Word): number[][] {
  if (!maybeMisspelt(word)) return [];
  const terms = partOfWord(word);
  const few = FEW_SPOILT[terms.length];
  const step = few === undefined ? Math.ceil((terms.length - MOST_SPOILT + 1) / MOST_GROUPS) : 1;
  const spoilt = few ?? MOST_SPOILT - 1 + step;
  const groups: number[][] = [];
  for (let at = 0; at < terms.length - spoilt + step; at += step)
    groups.push(terms.filter((_, i) => i < at || i >= at + spoilt));
  return groups;
}

/** A mistake of one letter, or of two that changed places, spoils at most so many runs of three. */
const MOST_SPOILT = 4;
/** Each takes a look into the index, so that in a long word several places share one. */
const MOST_GROUPS = 3;
/** Of words with few runs fewer are left out, since two at least must remain: then some mistakes are not seen. */
const FEW_SPOILT: Readonly<Record<number, number>> = { 4: 2, 5: 3, 6: 4 };

/** The word of the texts that is nearest to the misspelt one; of equally near ones that of the most texts. null: none is near. */
export function nearestWord(misspelt: string, texts: readonly string[]): string | null {
  const sought = withoutAccents(misspelt);
  const most = sought.length < TWO_MISTAKES ? 1 : 2;
  const counts = new Map<string, number>();
  for (const text of texts)
    for (const word of new Set(wordsOf(text).map((one) => one.text))) counts.set(word, (counts.get(word) ?? 0) + 1);
  let nearest: { word: string; mistakes: number; count: number } | null = null;
  for (const [word, count] of counts) {
    if (Math.abs(word.length - sought.length) > most) continue;
    const mistakes = mistakesBetween(sought, withoutAccents(word));
    if (mistakes > most) continue;
    if (!nearest || mistakes < nearest.mistakes || (mistakes === nearest.mistakes && count > nearest.count))
      nearest = { word, mistakes, count };
  }
  return nearest?.word ?? null;
}

/** Whoever types may leave accents out. */
const withoutAccents = (word: string): string => word.normalize('NFD').replace(/\p{M}/gu, '').normalize('NFC');

/**
 * How many letters are missing, superfluous or wrong, or changed places with the next. Endless where the first letter is another: that is
 * seldom mistyped, and `mailing` is not meant by `failing`.
 */
function mistakesBetween(one: string, other: string): number {
  if (one[0] !== other[0]) return Number.POSITIVE_INFINITY;
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, j) => j);
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const isSame = one[i - 1] === other[j - 1];
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      row[j] = Math.min(
        at(last, j) + 1,
        at(row, j - 1) + 1,
        at(last, j - 1) + (isSame ? 0 : 1),
        isSwapped ? at(beforeLast, j - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [beforeLast, last] = [last, row];
  }
  return at(last, other.length);
}

const at = (row: readonly number[], index: number): number => row[index] ?? Number.POSITIVE_INFINITY;
