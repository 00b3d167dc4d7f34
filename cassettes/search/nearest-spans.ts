/** Which spans are nearest to a vector? Of each its nearest chunk, by cosine. */
import type { Db } from '../../core/cassette/contract.ts';
import { HALF_DIMENSIONS, INDEXED_DIMENSIONS } from './migrations.ts';
import type { SpanHit } from './model.ts';
import { explained, type Relations } from './relations.ts';

type Asked = { model: string; vector: readonly number[]; top_k: number };

/** Up to so many spans every chunk is compared: that takes milliseconds, and an index may overlook some of a few. */
const FEW_SPANS = 3000;
/** A span can have several chunks among the nearest, and some spans are gone since. */
const CHUNKS_A_SPAN = 4;
const LEAST_CANDIDATES = 400;

/** @throws {SearchOff} a relation is missing */
export async function nearestSpans(db: Db, relations: Relations, asked: Asked): Promise<SpanHit[]> {
  try {
    if (await areFew(db, asked.model)) return await ranked(db, relations, asked, null);
    const candidates = Math.max(LEAST_CANDIDATES, asked.top_k * CHUNKS_A_SPAN);
    const quick = await ranked(db, relations, asked, candidates);
    return quick.length >= asked.top_k ? quick : await ranked(db, relations, asked, null); // all near chunks are of few spans
  } catch (error) {
    throw explained(error, relations);
  }
}

async function areFew(db: Db, model: string): Promise<boolean> {
  const { rows } = await db.query<{ spans: number }>(
    `select count(*) as spans
       from (select 1 from embedded_spans where model = $1 and state = 'embedded' limit ${FEW_SPANS}) as counted`,
    [model],
  );
  return (rows[0]?.spans ?? 0) < FEW_SPANS;
}

/** @param candidates null: every chunk is looked at, without an index */
async function ranked(
  db: Db,
  { spans, turns }: Relations,
  asked: Asked,
  candidates: number | null,
): Promise<SpanHit[]> {
  const { model, vector, top_k } = asked;
  const distance = distanceTo(vector.length);
  const limited = candidates === null ? '' : `order by ${distance} limit ${candidates}`;
  const text = `
    with near as materialized (
      select trace_id, span_id, snippet, ${distance} as distance
        from span_embeddings
       where model = $1 and dimensions = ${vector.length} ${limited}
    ), best as (
      select distinct on (trace_id, span_id) trace_id, span_id, snippet, distance
        from near order by trace_id, span_id, distance
    )
    select s.session_id, s.trace_id, s.span_id, 1 - b.distance as score, t.user_prompt as prompt, b.snippet, s.model,
           to_char(s.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as started_at
      from best b
      join ${spans} s on s.trace_id = b.trace_id and s.span_id = b.span_id
      join ${turns} t on t.trace_id = b.trace_id
     order by b.distance, s.trace_id, s.span_id
     limit $3::integer`;
  const settings =
    candidates === null
      ? {}
      : {
          enable_seqscan: false, // nobody may have counted the rows yet, and then the planner thinks little of indexes
          ...{ 'hnsw.ef_search': Math.min(1000, candidates), 'hnsw.iterative_scan': 'strict_order' },
        };
  const { rows } = await db.query<SpanHit>(text, [model, `[${vector.join(',')}]`, top_k], { settings });
  return rows;
}

/** As the index of that length has it, where there is one. */
function distanceTo(dimensions: number): string {
  const is = (one: number) => one === dimensions;
  if (INDEXED_DIMENSIONS.some(is)) return cosine(`vector(${dimensions})`);
  return HALF_DIMENSIONS.some(is) ? cosine(`halfvec(${dimensions})`) : '(embedding <=> $2::vector)';
}

const cosine = (type: string) => `(embedding::${type} <=> $2::${type})`;
