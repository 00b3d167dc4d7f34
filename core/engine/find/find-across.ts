/** Finds a text across sessions: the index names spans that may hold it, and their texts decide. */
import type { Database } from '../../db/database.ts';
import type { FindCandidate, FindFilter } from '../../db/find/find-candidates.ts';
import { allTerms, significantWords, type TextQuery, textQuery } from '../../find/query.ts';
import { type Scored, scoreOf } from '../../find/score.ts';
import { partOfWord } from '../../find/terms.ts';
import type { FindHit, FindPlace, ReplacedWord } from '../../model/find.ts';
import { amendedQuery } from './amend-query.ts';
import { candidateTexts, spanOf } from './candidate-texts.ts';
import { textWindows } from './text-windows.ts';

type Search = {
  text: string;
  places: readonly FindPlace[];
  filter: FindFilter;
  /** How many hits earlier pages have shown. */
  skip: number;
  /** How many hits are wanted, those of earlier pages included. */
  wanted: number;
  /** As the first page has it; null: this is the first page, and the time that it took decides. */
  amends: boolean | null;
};

/**
 * Candidates are compared in batches, whose hits are ranked among themselves. Where a batch ends depends on the stored texts alone, neither
 * on the page nor on the clock: so each page of a search continues one and the same list.
 */
const CANDIDATES = [60, 200];
/** A batch goes on until it has so many hits, a page of usual size and one more: the best are not always the newest. */
const BATCH_HITS = 21;
/** A batch with hits ends after so many reads, of a megabyte or so each. */
const BATCH_READS = 8;
const SPANS_OF_READ = 60;
/** A longer query is not searched for spans with all of its words as parts of others: the search by its rare words finds the same. */
const SHORT_WORDS = 4;
/** After this long a search that has hits for its page leaves further batches to the next page. */
const MOST_MS = 2_000;

/** A search that took longer is not repeated with other words. */
const AMENDED_WITHIN_MS = 500;
/** What has the words of an amended query does not have them as they were sought: it ranks below all that has. */
const AMENDED_SCORE = 2 / 3;

type Hits = Map<string, FindHit>;

export type FindResult = {
  /** In each batch the best first; of equal ones the newest. */
  hits: FindHit[];
  /** The search ended by the clock: there may be hits behind these. */
  isCut: boolean;
  /** Whether words that no text has were sought as the nearest ones, for the further pages. */
  amends: boolean;
  /** Words that no text has, with those that were looked for beside them. */
  replaced: ReplacedWord[];
};

/** What has nearly a word counts where no text has the word itself. */
export async function findAcross(execute: Database['execute'], search: Search): Promise<FindResult> {
  const began = performance.now();
  const query = textQuery(search.text);
  if (query.words.length === 0) return { hits: [], isCut: false, amends: true, replaced: [] };
  const found = new Set<string>();
  const batches = hitBatches(execute, search, { query, found });
  const first = await nextOf(batches);
  const { filter } = search;
  const places = inSpans(search.places);
  const amends = search.amends ?? (first.size === 0 || performance.now() - began < AMENDED_WITHIN_MS);
  const amended = places.length > 0 && amends ? await amendedQuery(execute, { query, places, filter, found }) : null;
  const near = amended ? hitBatches(execute, search, { query: amended.query, found: new Set() }) : null;
  if (near) addNear(first, await nextOf(near));
  const ranked: Hits = new Map();
  addRanked(ranked, first);
  let isCut = false;
  for (const rest of [batches, ...(near ? [near] : [])])
    while (ranked.size < search.wanted && !isCut) {
      isCut = ranked.size > search.skip && performance.now() - began > MOST_MS;
      const { value, done } = isCut ? { value: undefined, done: false } : await rest.next();
      if (done) break;
      if (value) addRanked(ranked, rest === near ? addNear(new Map(), value) : value);
    }
  return { hits: [...ranked.values()], isCut, amends, replaced: amended?.replaced ?? [] };
}

const nextOf = async (batches: AsyncGenerator<Hits, void>): Promise<Hits> => (await batches.next()).value ?? new Map();

/** Adds hits of an amended query to those of the query itself. */
function addNear(hits: Hits, near: Hits): Hits {
  for (const [key, hit] of near) {
    const score = rounded(hit.score * AMENDED_SCORE);
    if (score > (hits.get(key)?.score ?? 0)) hits.set(key, { ...hit, score });
  }
  return hits;
}

/** What an earlier batch has stays where it is. */
function addRanked(ranked: Hits, batch: Hits): void {
  const sorted = [...batch].sort(([, a], [, b]) => b.score - a.score || (a.at < b.at ? 1 : -1));
  for (const [key, hit] of sorted) if (!ranked.has(key)) ranked.set(key, hit);
}

const inSpans = (places: readonly FindPlace[]) => places.filter((place) => place !== 'prompt');

type Sought = {
  query: TextQuery;
  /** Gets the words of the query that any of the compared texts has. */
  found: Set<string>;
};

/** The hits of one batch after another, as long as there are some. */
async function* hitBatches(
  execute: Database['execute'],
  { places: listed, filter }: Search,
  { query, found }: Sought,
): AsyncGenerator<Hits, void> {
  const places = inSpans(listed);
  const windows = places.length > 0 ? await textWindows(execute) : [];
  const inPrompts = listed.includes('prompt') && filter.tool === null; // calls have prompts, and steps of tools have none
  const seen = new Set<string>();
  let [hits, reads]: [Hits, number] = [new Map(), 0];
  for (const { groups, match, promptTerms } of stagesOf(query))
    for (const limit of CANDIDATES) {
      const prompts = promptTerms && inPrompts ? { sought: promptTerms, filter, limit } : null;
      const calls = prompts ? await lookInPrompts(execute, query, prompts, { hits, found }) : 0;
      const search = { groups, match, places, filter, windows, limit };
      const candidates = places.length > 0 ? await execute('findCandidates', search) : [];
      const fresh = candidates.filter((candidate) => !seen.has(keyOf(candidate)));
      for (const candidate of fresh) seen.add(keyOf(candidate));
      const spans = bySpan(fresh);
      for (let at = 0; at < spans.length; ) {
        at += await verify(execute, query, spans.slice(at, at + SPANS_OF_READ), { hits, found });
        reads += 1;
        if (hits.size === 0 || reads < BATCH_READS || at >= spans.length) continue;
        yield hits;
        [hits, reads] = [new Map(), 0];
      }
      if (hits.size >= BATCH_HITS || (hits.size > 0 && reads >= BATCH_READS)) {
        yield hits;
        [hits, reads] = [new Map(), 0];
      }
      if (calls < limit && candidates.length < limit) break; // more would be the same
    }
  if (hits.size > 0) yield hits;
}

/** `promptTerms`: the stage looks in prompts too, for these terms. */
type Stage = { groups: number[][]; match: 'all' | 'some'; promptTerms: number[] | null };

/** The ways in which a text is looked for, the strictest first; each of them in all spellings. */
function stagesOf({ spellings }: TextQuery): Stage[] {
  const few = spellings.filter(({ length }) => length <= SHORT_WORDS);
  const several = spellings.filter(({ length }) => length > 1);
  return [
    ...spellings.map((words) => ({
      groups: [allTerms(words, false)],
      match: 'all' as const,
      promptTerms: allTerms(words, true),
    })),
    ...few.map((words) => ({ groups: [allTerms(words, true)], match: 'all' as const, promptTerms: null })),
    ...several.map((words) => ({
      groups: significantWords(words).map(partOfWord),
      match: 'some' as const,
      promptTerms: null,
    })),
  ];
}

type Comparison = { hits: Hits; found: Set<string> };

const keyOf = ({ trace_id, span_id, place }: FindCandidate) => `${trace_id} ${span_id} ${place}`;

function bySpan(candidates: readonly FindCandidate[]): FindCandidate[][] {
  const spans = new Map<string, FindCandidate[]>();
  for (const candidate of candidates)
    spans.set(spanOf(candidate), [...(spans.get(spanOf(candidate)) ?? []), candidate]);
  return [...spans.values()];
}

/** Adds those of the candidates that have it. @returns how many spans of them were looked at */
async function verify(
  execute: Database['execute'],
  query: TextQuery,
  spans: readonly FindCandidate[][],
  { hits, found }: Comparison,
): Promise<number> {
  const keys = spans.flatMap(([one]) => one ?? []);
  const { covered, texts: textsBySpan } = await candidateTexts(execute, keys);
  for (const candidates of spans.slice(0, covered)) {
    const read = candidates[0] && textsBySpan.get(spanOf(candidates[0]));
    if (!read) continue;
    const { span, texts } = read;
    for (const candidate of candidates) {
      const { place } = candidate;
      const scored = scoreOf(
        query,
        texts.filter((text) => text.place === place),
      );
      if (!scored) continue;
      hits.set(keyOf(candidate), hitOf(span, place, scored));
      for (const word of scored.words) found.add(word);
    }
  }
  return covered;
}

/**
 * The newest calls first that have it in a system prompt or the definition of a tool; each session names the first one.
 * @returns how many places were compared
 */
async function lookInPrompts(
  execute: Database['execute'],
  query: TextQuery,
  prompts: { sought: number[]; filter: FindFilter; limit: number },
  { hits, found: words }: Comparison,
): Promise<number> {
  const found = await execute('promptCandidates', prompts);
  for (const { block, start, text, ...call } of found) {
    const scored = scoreOf(query, [{ place: 'prompt', side: 'prompt', block, offset: start, text }]);
    const key = `${spanOf(call)} prompt ${block}`;
    const before = hits.get(key);
    for (const word of scored?.words ?? []) words.add(word);
    if (scored && (!before || before.score < scored.score)) hits.set(key, hitOf(call, 'prompt', scored));
  }
  return found.length;
}

function hitOf(
  span: Omit<FindHit, 'place' | 'score' | 'matches'>,
  place: FindPlace,
  { score, matches }: Scored,
): FindHit {
  const { session_id, trace_id, span_id, raw_turn_id, title, kind, name, model, status, at } = span;
  return {
    ...{ session_id, trace_id, span_id, raw_turn_id, title, kind, name, model, status, at, place },
    score: rounded(score),
    matches,
  };
}

const rounded = (score: number): number => Math.round(score * 1e4) / 1e4;
