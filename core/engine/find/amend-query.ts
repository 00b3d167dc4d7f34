/** Corrects a query: each word that no text has becomes the most similar word of the texts that are indexed under nearly the same terms. */
import type { Database } from '../../db/database.ts';
import type { FindFilter } from '../../db/find/find-candidates.ts';
import { literalPattern } from '../../find/matches.ts';
import { nearestWord, termsBesideMistake } from '../../find/misspelt.ts';
import { significantWords, type TextQuery, textQuery } from '../../find/query.ts';
import type { Word } from '../../find/terms.ts';
import type { FindPlace, ReplacedWord } from '../../model/find.ts';
import { candidateTexts } from './candidate-texts.ts';

type Amending = {
  query: TextQuery;
  places: readonly FindPlace[];
  filter: FindFilter;
  /** The words of the query that some text has. */
  found: ReadonlySet<string>;
};

/** Each takes a search of its own; the longest come first. */
const MOST_AMENDED = 2;
/** So many texts are enough to have the word once. */
const TEXTS = 30;
const TEXTS_OF_GROUP = 100;

export type AmendedQuery = { query: TextQuery; replaced: ReplacedWord[] };

/** null: there is no word to amend, or no text has a word that is near. */
export async function amendedQuery(
  execute: Database['execute'],
  { query, places, filter, found }: Amending,
): Promise<AmendedQuery | null> {
  const isFound = ({ text }: Word) => [...found].some((other) => other.includes(text));
  const lacking = significantWords(query.words)
    .filter((word) => !isFound(word))
    .map((word) => ({ word, groups: termsBesideMistake(word) }))
    .filter(({ groups }) => groups.length > 0);
  let text = query.text;
  const replaced: ReplacedWord[] = [];
  for (const { word, groups } of lacking.slice(0, MOST_AMENDED)) {
    const limits = { limit: TEXTS, most_of_group: TEXTS_OF_GROUP };
    const keys = await execute('findCandidates', { groups, match: 'some', places, filter, windows: [], ...limits });
    const { texts } = await candidateTexts(execute, keys);
    const nearest = nearestWord(
      word.text,
      [...texts.values()].map(({ texts }) => texts.map(({ text }) => text).join('\n')),
    );
    if (nearest === null) continue;
    text = text.replace(literalPattern(word.text), () => nearest);
    replaced.push({ word: word.text, by: nearest });
  }
  return text === query.text ? null : { query: textQuery(text), replaced };
}
