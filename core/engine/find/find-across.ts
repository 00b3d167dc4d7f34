/** Finds a text across sessions: the index names spans that may hold it, and their texts decide. */
import type { Database } from '../../db/database.ts';
import type { Candidate, CandidateSpan, FindFilter } from '../../db/find/find-candidates.ts';
import { allTerms, type TextQuery, tellingWords, textQuery } from '../../find/query.ts';
import { type Scored, scoreOf } from '../../find/score.ts';
import { spanTexts } from '../../find/span-texts.ts';
import { partOfWord } from '../../find/terms.ts';
import type { ContentBlock } from '../../model/content-block.ts';
import type { FindHit, FindPlace } from '../../model/find.ts';
import { parseJson } from '../../parse-json.ts';
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

/** The best first; of equal ones the newest. */
export async function findAcross(execute: Database['execute'], search: Search): Promise<FindHit[]> {
  const query = textQuery(search.text);
  if (query.words.length === 0) return [];
  const hits = new Map<string, FindHit>();
  const began = performance.now();
  const seen = new Set<string>();
  const enough = () => {
    const ms = performance.now() - began;
    return hits.size > 0 && (ms > MOST_MS || (ms > ENOUGH_MS && hits.size >= search.wanted));
  };
  const limit = Math.min(Math.max(2 * search.wanted, CANDIDATES.least), CANDIDATES.most);
  const look = async (groups: number[][], match: 'all' | 'some') => {
    const places = search.places.filter((place) => place !== 'prompt');
    if (places.length === 0) return;
    const { filter } = search;
    const windows = await textWindows(execute);
    const candidates = await execute('findCandidates', { groups, match, places, filter, windows, limit });
    const fresh = candidates.filter((candidate) => !seen.has(keyOf(candidate)));
    for (const candidate of fresh) seen.add(keyOf(candidate));
    const spans = bySpan(fresh);
    for (let at = 0; at < spans.length && !enough(); )
      at += await verify(execute, query, spans.slice(at, at + BATCH), hits);
  };
  if (search.places.includes('prompt')) await lookInPrompts(execute, query, search.filter, limit, hits);
  await look([allTerms(query, false)], 'all');
  const isShort = query.words.length <= SHORT_WORDS;
  if (isShort && hits.size < search.wanted && !enough()) await look([allTerms(query, true)], 'all');
  if (hits.size < search.wanted && query.words.length > 1 && !enough())
    await look(tellingWords(query).map(partOfWord), 'some');
  return [...hits.values()].sort((a, b) => b.score - a.score || (a.at < b.at ? 1 : -1));
}

const keyOf = ({ trace_id, span_id, place }: Candidate) => `${trace_id} ${span_id} ${place}`;
const spanOf = ({ trace_id, span_id }: Pick<Candidate, 'trace_id' | 'span_id'>) => `${trace_id} ${span_id}`;

function bySpan(candidates: readonly Candidate[]): Candidate[][] {
  const spans = new Map<string, Candidate[]>();
  for (const candidate of candidates)
    spans.set(spanOf(candidate), [...(spans.get(spanOf(candidate)) ?? []), candidate]);
  return [...spans.values()];
}

/** Adds those of the candidates that have it. @returns how many spans of them were looked at */
async function verify(
  execute: Database['execute'],
  query: TextQuery,
  spans: readonly Candidate[][],
  hits: Map<string, FindHit>,
): Promise<number> {
  const keys = spans.flatMap(([one]) => one ?? []);
  const read = await execute('candidateSpans', { keys });
  const byId = new Map(read.spans.map((span) => [spanOf(span), span]));
  for (const candidates of spans.slice(0, read.covered)) {
    const span = candidates[0] && byId.get(spanOf(candidates[0]));
    if (!span) continue;
    const texts = textsOf(span);
    for (const candidate of candidates) {
      const { place } = candidate;
      const scored = scoreOf(
        query,
        texts.filter((text) => text.place === place),
      );
      if (scored) hits.set(keyOf(candidate), hitOf(span, place, scored));
    }
  }
  return read.covered;
}

/** The newest calls first that have it in a system prompt or the definition of a tool; each session names the first one. */
async function lookInPrompts(
  execute: Database['execute'],
  query: TextQuery,
  filter: FindFilter,
  limit: number,
  hits: Map<string, FindHit>,
): Promise<void> {
  const found = await execute('promptCandidates', { sought: allTerms(query, true), filter, limit });
  for (const { block, start, text, ...call } of found) {
    const scored = scoreOf(query, [{ place: 'prompt', side: 'prompt', block, offset: start, text }]);
    const key = `${spanOf(call)} prompt ${block}`;
    const before = hits.get(key);
    if (scored && (!before || before.score < scored.score)) hits.set(key, hitOf(call, 'prompt', scored));
  }
}

const textsOf = ({ kind, input, output, error_message }: CandidateSpan) =>
  spanTexts({
    kind,
    input: parseJson(input) as ContentBlock[],
    output: parseJson(output) as ContentBlock[],
    error_message,
  });

function hitOf(
  span: Omit<FindHit, 'place' | 'score' | 'matches'>,
  place: FindPlace,
  { score, matches }: Scored,
): FindHit {
  const { session_id, trace_id, span_id, raw_turn_id, title, kind, name, model, status, at } = span;
  return {
    ...{ session_id, trace_id, span_id, raw_turn_id, title, kind, name, model, status, at, place },
    score: Math.round(score * 1e4) / 1e4,
    matches,
  };
}
