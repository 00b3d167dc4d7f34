/** Finds the spans nearest to a vector: of each its nearest chunk, by cosine. */
import type { Db } from '../../core/cassette/contract.ts';
import type { SpanCondition } from './filter.ts';
import { HALF_DIMENSIONS, INDEXED_DIMENSIONS } from './migrations.ts';
import type { SpanHit } from './model.ts';
import { explained, type Relations } from './relations.ts';
import type { VectorStore } from './vector-store.ts';

type NearestQuery = {
  model: string;
  vector: readonly number[];
  top_k: number;
  /** On a span `s`; its parameters begin with `FIRST_OF_CONDITION`. */
  condition?: SpanCondition;
};
export const FIRST_OF_CONDITION = 3;

/** So many chunks are compared one by one: it takes no longer than the index, which misses some of the nearest where few are near. */
const FEW_CHUNKS = 10_000;
/** A span can have several chunks among the nearest, and some spans may have been deleted. */
const CHUNKS_A_SPAN = 4;
const LEAST_CANDIDATES = 200; // the time of a search depends on the candidates of the index
const MOST_CANDIDATES = 1000;

/** How many more are queried, since some of the nearest may have been deleted. */
const SPARE = 20;

/** Databases with more than a few chunks of a model, which need not be counted again. */
const grown = new WeakMap<Db, string>();

type Near = { trace_id: string; span_id: string; snippet: string; distance: number };

/** @throws {SearchOff} a relation is missing */
export async function nearestSpans(
  db: Db,
  store: VectorStore,
  relations: Relations,
  query: NearestQuery,
): Promise<SpanHit[]> {
  const { top_k, condition = ANY } = query;
  const most = top_k + SPARE;
  const first = Math.max(LEAST_CANDIDATES, most * CHUNKS_A_SPAN);
  try {
    const matching = condition === ANY ? null : await spansMatching(db, relations, condition);
    if (matching && matching.length <= MOST_COMPARED) {
      const near = await nearest(store, query, { candidates: null, most, among: matching });
      return await hitsOf(db, relations, near, top_k);
    }
    const few = await areFew(db, store, query.model);
    for (const candidates of few ? [null] : [first, MOST_CANDIDATES]) {
      const near = await nearest(store, query, { candidates, most });
      const hits = await hitsOf(db, relations, near, top_k, condition);
      if (hits.length >= top_k || (few && near.length < most)) return hits;
    }
    // all near chunks were of few spans, of deleted ones, or of spans without what the filter requires
    if (!matching) return await hitsOfPages(db, store, relations, query);
    const near = await nearest(store, query, { candidates: null, most, among: matching });
    return await hitsOf(db, relations, near, top_k);
  } catch (error) {
    throw explained(error, relations);
  }
}

const ANY: SpanCondition = { sql: '', values: [] };

/** Spans of a page: all of a large store would not fit into one result. Each page compares every chunk. */
const PAGE = 5_000;

/** Goes on from page to page, the nearest first, until there are enough hits or no more spans. */
async function hitsOfPages(db: Db, store: VectorStore, relations: Relations, query: NearestQuery): Promise<SpanHit[]> {
  const hits: SpanHit[] = [];
  for (let after: Near | undefined, more = true; more; ) {
    const page = await nearest(store, query, { candidates: null, most: PAGE, ...(after && { after }) });
    hits.push(...(await hitsOf(db, relations, page, query.top_k - hits.length)));
    after = page.at(-1);
    more = hits.length < query.top_k && page.length === PAGE;
  }
  return hits;
}

/** Of so many spans that match a filter every chunk is compared; of more the index names those that are near. */
const MOST_COMPARED = 3_000;
/** The newest, where the index has found too few. */
const MOST_MATCHING = 20_000;

type SpanKey = { trace_id: string; span_id: string };

async function spansMatching(db: Db, { spans }: Relations, { sql, values }: SpanCondition): Promise<SpanKey[]> {
  const { rows } = await db.query<SpanKey>(
    `select s.trace_id, s.span_id from ${spans} s
      where s.kind = 'llm' and s.call_kind = $1 ${sql} order by s.started_at desc limit $2::integer`,
    ['main', MOST_MATCHING, ...values],
  );
  return rows;
}

async function areFew(db: Db, store: VectorStore, model: string): Promise<boolean> {
  if (grown.get(db) === model) return false;
  const { rows } = await store.query<{ chunks: number }>(
    `select coalesce(sum(chunks), 0)::integer as chunks
       from (select chunks from embedded_spans where model = $1 and state = 'embedded' limit ${FEW_CHUNKS}) as counted`,
    [model],
  );
  const few = (rows[0]?.chunks ?? 0) < FEW_CHUNKS;
  if (!few) grown.set(db, model);
  return few;
}

type NearestLimits = {
  /** How many chunks the index returns; null: every chunk is compared, without the index. */
  candidates: number | null;
  /** The limit of spans. */
  most: number;
  /** Only these. Absent: all. */
  among?: readonly SpanKey[];
  /** Only those behind this one in the order of the result; not together with `among`. */
  after?: Near;
};

async function nearest(
  store: VectorStore,
  { model, vector }: NearestQuery,
  { candidates, most, among, after }: NearestLimits,
): Promise<Near[]> {
  const distance = distanceTo(vector.length);
  const limited = candidates === null ? '' : `order by ${distance} limit ${candidates}`;
  const keys = among
    ? `join jsonb_to_recordset($4::jsonb) as k (trace_id uuid, span_id uuid) using (trace_id, span_id)`
    : '';
  const behind = after ? 'where (distance, trace_id, span_id) > ($4::double precision, $5::uuid, $6::uuid)' : '';
  const text = `
    with near as materialized (
      select trace_id, span_id, snippet, ${distance} as distance
        from span_embeddings ${keys}
       where model = $1 and dimensions = ${vector.length} ${limited}
    ), best as (
      select distinct on (trace_id, span_id) trace_id, span_id, snippet, distance
        from near order by trace_id, span_id, distance
    )
    select trace_id, span_id, snippet, distance from best ${behind}
     order by distance, trace_id, span_id limit $3::integer`;
  const settings =
    candidates === null
      ? {}
      : {
          enable_seqscan: false, // without statistics of the table the planner avoids the index
          ...{ 'hnsw.ef_search': candidates, 'hnsw.iterative_scan': 'strict_order' },
        };
  const bounds = among ? [JSON.stringify(among)] : after ? [after.distance, after.trace_id, after.span_id] : [];
  const parameters = [model, `[${vector.join(',')}]`, most, ...bounds];
  const { rows } = await store.query<Near>(text, parameters, { settings });
  return rows;
}

/** The hits, without spans that no longer exist. */
async function hitsOf(
  db: Db,
  { spans, turns }: Relations,
  near: readonly Near[],
  top_k: number,
  { sql, values }: SpanCondition = ANY,
): Promise<SpanHit[]> {
  const { rows } = await db.query<SpanHit>(
    `select s.session_id, s.trace_id, s.span_id, 1 - n.distance as score, t.user_prompt, n.snippet, s.model,
            to_char(s.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as started_at
       from jsonb_to_recordset($1::jsonb) as n (trace_id uuid, span_id uuid, snippet text, distance double precision)
       join ${spans} s on s.trace_id = n.trace_id and s.span_id = n.span_id
       join ${turns} t on t.trace_id = n.trace_id
      where true ${sql}
      order by n.distance, s.trace_id, s.span_id
      limit $2::integer`,
    [JSON.stringify(near), top_k, ...values],
  );
  return rows;
}

/** The distance as in the index of that length, where there is one. */
function distanceTo(dimensions: number): string {
  const matches = (one: number) => one === dimensions;
  if (INDEXED_DIMENSIONS.some(matches)) return cosine(`vector(${dimensions})`);
  return HALF_DIMENSIONS.some(matches) ? cosine(`halfvec(${dimensions})`) : '(embedding <=> $2::vector)';
}

const cosine = (type: string) => `(embedding::${type} <=> $2::${type})`;
