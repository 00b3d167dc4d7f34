/** A search in one of three modes: by meaning, by words, or by both. */
import type { Env } from '../../core/cassette/contract.ts';
import { embeddingReached, embedQuery } from './embed-spans.ts';
import { EmbeddingFailed, NoEmbedder } from './embedder.ts';
import { conditionOf, filterOf, isFiltered, type SearchFilter } from './filter.ts';
import { fused } from './fuse.ts';
import type { SearchConfig } from './manifest.ts';
import type { Mode, SpanHit, SpanHits } from './model.ts';
import { FIRST_OF_CONDITION, nearestSpans } from './nearest-spans.ts';
import { databaseOf, relationsOf, SearchOff } from './relations.ts';
import { type TextHit, type TextHits, textHits } from './text-half.ts';
import { vectorStoreOf } from './vector-store.ts';

/** Of each half so many are ranked together, since what both have low may come out high. */
const RANKED = 50;

type Search = { query: string; top_k: number; mode: Mode } & SearchFilter;

/** @throws {SearchOff | NoEmbedder} it is not set up; with `text` and `hybrid` only where the core cannot be asked */
export async function searchSpans(env: Env<SearchConfig>, search: Search): Promise<SpanHits> {
  const { query, top_k, mode } = search;
  const filter = filterOf(search);
  if (mode === 'vector') {
    const results = await byMeaning(env, query, filter, top_k);
    return { query, results, count: results.length, ...coverageOf(env) };
  }
  if (mode === 'text') {
    const text = await textHits(env, query, filter, top_k);
    const results = await shown(env, text.hits);
    return { query, results, count: results.length, ...textCoverageOf(text) };
  }
  const most = Math.max(RANKED, top_k);
  const [text, vector] = await Promise.all([
    textHits(env, query, filter, most),
    byMeaning(env, query, filter, most).catch(ifAway),
  ]);
  const results = await together(env, text.hits, vector ?? [], top_k);
  return {
    ...{ query, results, count: results.length, ...coverageOf(env), ...textCoverageOf(text) },
    ...(vector === null ? { missing: 'vector' as const } : {}),
  };
}

async function byMeaning(
  env: Env<SearchConfig>,
  query: string,
  filter: SearchFilter,
  top_k: number,
): Promise<SpanHit[]> {
  const db = databaseOf(env);
  const [{ model, vector }, store] = await Promise.all([embedQuery(env, query), vectorStoreOf(env)]);
  const condition = isFiltered(filter) ? { condition: await conditionOf(env, filter, FIRST_OF_CONDITION) } : {};
  return nearestSpans(db, store, relationsOf(env.CONFIG), { model, vector, top_k, ...condition });
}

/** null: there is no embedder now, or no store; words are found without. */
function ifAway(error: unknown): null {
  if (error instanceof NoEmbedder || error instanceof SearchOff || error instanceof EmbeddingFailed) return null;
  throw error;
}

const keyOf = ({ trace_id, span_id }: { trace_id: string; span_id: string }) => `${trace_id} ${span_id}`;

/** 1 where all words are in the text, at least in part: the core scores those above 1, and others by the share of words that they have. */
const weightOf = ({ score }: TextHit): number => Math.min(1, score) ** 2;

async function together(
  env: Env<SearchConfig>,
  text: readonly TextHit[],
  vector: readonly SpanHit[],
  top_k: number,
): Promise<SpanHit[]> {
  const ranking = fused(
    text.map((hit) => ({ key: keyOf(hit), weight: weightOf(hit) })),
    vector.map(keyOf),
  ).slice(0, top_k);
  const wanted = new Set(ranking.map(({ key }) => key));
  const byWords = await shown(
    env,
    text.filter((hit) => wanted.has(keyOf(hit))),
  );
  const hits = new Map(vector.map((hit) => [keyOf(hit), { ...hit, kind: 'llm', matches: [] } as SpanHit]));
  for (const hit of byWords) {
    const near = hits.get(keyOf(hit));
    hits.set(keyOf(hit), near ? { ...near, ...hit, user_prompt: near.user_prompt } : hit);
  }
  return ranking.flatMap(({ key, score, ranks }) => {
    const hit = hits.get(key);
    return hit ? [{ ...hit, score: Math.round(score * 1e6) / 1e6, ranks }] : [];
  });
}

/** What was found by words, with the prompts of its turns. */
async function shown(env: Env<SearchConfig>, hits: readonly TextHit[]): Promise<SpanHit[]> {
  const prompts = await promptsOf(env, hits);
  return hits.map(({ session_id, trace_id, span_id, kind, name, model, at, score, matches }) => {
    const [first] = matches;
    return {
      ...{ session_id, trace_id, span_id, score },
      user_prompt: prompts.get(trace_id) ?? '',
      snippet: first ? `${first.before}${first.match}${first.after}` : '',
      ...{ model, started_at: at, kind, name, matches },
    };
  });
}

/** Empty where they cannot be read: the words are found all the same. */
async function promptsOf(env: Env<SearchConfig>, hits: readonly TextHit[]): Promise<ReadonlyMap<string, string>> {
  if (!env.DB || hits.length === 0) return new Map();
  const { turns } = relationsOf(env.CONFIG);
  const ids = `{${[...new Set(hits.map(({ trace_id }) => trace_id))].join(',')}}`;
  try {
    const { rows } = await env.DB.query<{ trace_id: string; user_prompt: string }>(
      `select t.trace_id, t.user_prompt from ${turns} t where t.trace_id = any($1::uuid[])`,
      [ids],
    );
    return new Map(rows.map(({ trace_id, user_prompt }) => [trace_id, user_prompt]));
  } catch (error) {
    env.LOG.warn({ error: (error as Error).name }, 'Cannot read the prompts of what was found');
    return new Map();
  }
}

function coverageOf(env: Env<SearchConfig>): Pick<SpanHits, 'coverage'> {
  const progress = embeddingReached(env);
  return progress ? { coverage: { embedded: progress.done, pending: progress.pending, failed: progress.failed } } : {};
}

const textCoverageOf = ({ spans, spans_indexed }: TextHits): Pick<SpanHits, 'text_coverage'> => ({
  text_coverage: { spans, indexed: spans_indexed },
});
