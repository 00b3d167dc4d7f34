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
  /** How many hits are wanted, those of earlier pages included. */
  wanted: number;
};

/** Of candidates more than are wanted are compared, since the best are not always the newest. */
const CANDIDATES = { least: 60, most: 200 };
const BATCH = 60;
/** Of a longer text, what has all words as parts of words is also what has most of the telling ones. */
const SHORT_WORDS = 4;
/** After this long a search that has hits looks for no better ones. */
const ENOUGH_MS = 150;
const MOST_MS = 2_000;

/** A search that took longer is not repeated with other words. */
const AMENDED_WITHIN_MS = 500;
/** What has the words of an amended query does not have them as they were sought: it ranks below all that has. */
const AMENDED_SCORE = 2 / 3;

type Hits = Map<string, FindHit>;

export type FindResult = {
  /** The best first; of equal ones the newest. */
  hits: FindHit[];
  /** Words that no text has, with those that were looked for beside them. */
  replaced: ReplacedWord[];
};

/** What has nearly a word counts where no text has the word itself. */
export async function findAcross(execute: Database['execute'], search: Search): Promise<FindResult> {
  const began = performance.now();
  const query = textQuery(search.text);
  if (query.words.length === 0) return { hits: [], replaced: [] };
  const { hits, found } = await hitsOf(execute, search, query);
  const { filter } = search;
  const places = inSpans(search.places);
  const isQuick = hits.size === 0 || performance.now() - began < AMENDED_WITHIN_MS;
  const amended = places.length > 0 && isQuick ? await amendedQuery(execute, { query, places, filter, found }) : null;
  if (amended)
    for (const [key, hit] of (await hitsOf(execute, search, amended.query)).hits) {
      const score = rounded(hit.score * AMENDED_SCORE);
      if (score > (hits.get(key)?.score ?? 0)) hits.set(key, { ...hit, score });
    }
  const sorted = [...hits.values()].sort((a, b) => b.score - a.score || (a.at < b.at ? 1 : -1));
  return { hits: sorted, replaced: amended?.replaced ?? [] };
}

const inSpans = (places: readonly FindPlace[]) => places.filter((place) => place !== 'prompt');

/** `found`: the words of the query that any of the compared texts has. */
async function hitsOf(
  execute: Database['execute'],
  search: Search,
  query: TextQuery,
): Promise<{ hits: Hits; found: ReadonlySet<string> }> {
  const hits: Hits = new Map();
  const found = new Set<string>();
  const began = performance.now();
  const seen = new Set<string>();
  const enough = () => {
    const ms = performance.now() - began;
    return hits.size > 0 && (ms > MOST_MS || (ms > ENOUGH_MS && hits.size >= search.wanted));
  };
  const limit = Math.min(Math.max(2 * search.wanted, CANDIDATES.least), CANDIDATES.most);
  const look = async (groups: number[][], match: 'all' | 'some') => {
    const places = inSpans(search.places);
    if (places.length === 0) return;
    const { filter } = search;
    const windows = await textWindows(execute);
    const candidates = await execute('findCandidates', { groups, match, places, filter, windows, limit });
    const fresh = candidates.filter((candidate) => !seen.has(keyOf(candidate)));
    for (const candidate of fresh) seen.add(keyOf(candidate));
    const spans = bySpan(fresh);
    for (let at = 0; at < spans.length && !enough(); )
      at += await verify(execute, query, spans.slice(at, at + BATCH), { hits, found });
  };
  if (search.places.includes('prompt')) await lookInPrompts(execute, query, search.filter, limit, { hits, found });
  await look([allTerms(query, false)], 'all');
  const isShort = query.words.length <= SHORT_WORDS;
  if (isShort && hits.size < search.wanted && !enough()) await look([allTerms(query, true)], 'all');
  if (hits.size < search.wanted && query.words.length > 1 && !enough())
    await look(significantWords(query).map(partOfWord), 'some');
  return { hits, found };
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

/** The newest calls first that have it in a system prompt or the definition of a tool; each session names the first one. */
async function lookInPrompts(
  execute: Database['execute'],
  query: TextQuery,
  filter: FindFilter,
  limit: number,
  { hits, found: words }: Comparison,
): Promise<void> {
  const found = await execute('promptCandidates', { sought: allTerms(query, true), filter, limit });
  for (const { block, start, text, ...call } of found) {
    const scored = scoreOf(query, [{ place: 'prompt', side: 'prompt', block, offset: start, text }]);
    const key = `${spanOf(call)} prompt ${block}`;
    const before = hits.get(key);
    for (const word of scored?.words ?? []) words.add(word);
    if (scored && (!before || before.score < scored.score)) hits.set(key, hitOf(call, 'prompt', scored));
  }
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
