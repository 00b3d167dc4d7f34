/** What was embedded of which span, and what is still to do? */
import type { Db } from '../../core/cassette/contract.ts';
import type { SearchStatus } from './model.ts';
import { explained, type Relations } from './relations.ts';

export type Key = { trace_id: string; span_id: string };

export type Told = Key & {
  session_id: string;
  fingerprint: string;
  /** What was said, as it was captured. */
  input: string;
  output: string;
  /** Of what is known of it; null: nothing. */
  content_hash: string | null;
  state: 'embedded' | 'empty' | 'failed' | null;
  attempts: number;
};

/** One span's part in the ledger, and its vectors. */
export type Entry = Key & {
  session_id: string;
  fingerprint: string;
  content_hash: string;
  state: 'embedded' | 'empty' | 'failed';
  /** null: those that are there stay as they are. */
  chunks: readonly { snippet: string; embedding: readonly number[] }[] | null;
  attempts?: number;
  reason?: string;
  /** null: never. */
  retry_in_seconds?: number | null;
};

export type Ledger = ReturnType<typeof ledgerOf>;

/** How much is read of what was asked, and of what was answered: an answer of the database is held in memory. */
const LONGEST_TEXT = 262_144;
/** In the ledger's fingerprints: another one has all texts looked at again. */
const RECIPE = 1;

const MAIN = "s.kind = 'llm' and s.call_kind = 'main'";
/** Told without reading the payloads: the node is named by its content. Where there is none, they are read. */
const FINGERPRINT = `concat_ws('/', '${RECIPE}', pg_column_size(s.input), pg_column_size(s.output),
  coalesce(s.node_hash, md5(s.input::text || s.output::text)))`;
const DUE = `(e.span_id is null or e.fingerprint <> ${FINGERPRINT} or coalesce(e.retry_at <= now(), false))`;
const KNOWN = 'e.model = $1 and e.trace_id = s.trace_id and e.span_id = s.span_id';

const said = (column: string) => `left(coalesce((
  select string_agg(left(b.block ->> 'text', ${LONGEST_TEXT}), E'\\n' order by b.place)
    from jsonb_array_elements(case jsonb_typeof(${column}) when 'array' then ${column} else '[]' end)
         with ordinality as b (block, place)
   where b.block ->> 'type' = 'text'), ''), ${LONGEST_TEXT})`;

export function ledgerOf(db: Db, relations: Relations, model: string) {
  const { spans } = relations;
  const ask = async <Row>(text: string, parameters: readonly unknown[] = []): Promise<Row[]> => {
    try {
      return (await db.query<Row>(text, parameters)).rows;
    } catch (error) {
      throw explained(error, relations);
    }
  };
  return {
    /** Forgets spans that are gone, under every model. */
    prune: () =>
      ask(`delete from embedded_spans e
            where not exists (select 1 from ${spans} s where s.trace_id = e.trace_id and s.span_id = e.span_id and ${MAIN})`),

    /** New and changed spans, and those whose failure is to be tried again; the newest first. */
    due: (most: number) =>
      ask<Key>(
        `select s.trace_id, s.span_id
           from ${spans} s left join embedded_spans e on ${KNOWN}
          where ${MAIN} and ${DUE}
          order by s.started_at desc, s.trace_id, s.span_id limit $2::integer`,
        [model, most],
      ),

    told: (keys: readonly Key[]) =>
      ask<Told>(
        `select s.trace_id, s.span_id, s.session_id, ${FINGERPRINT} as fingerprint,
                ${said('s.input')} as input, ${said('s.output')} as output,
                e.content_hash, e.state, coalesce(e.attempts, 0) as attempts
           from unnest($2::uuid[], $3::uuid[]) as asked (trace_id, span_id)
           join ${spans} s on s.trace_id = asked.trace_id and s.span_id = asked.span_id
           left join embedded_spans e on ${KNOWN}
          where ${MAIN}`,
        [model, literal(keys.map(({ trace_id }) => trace_id)), literal(keys.map(({ span_id }) => span_id))],
      ),

    /** In one statement, so that a span's part in the ledger and its vectors are of one kind. */
    async write(entries: readonly Entry[]): Promise<void> {
      if (entries.length === 0) return;
      const rows = entries.map(({ chunks, ...entry }) => ({
        ...{ attempts: 0, reason: null, retry_in_seconds: null, ...entry },
        count: chunks?.length ?? null,
      }));
      const vectors = entries.flatMap(({ trace_id, span_id, chunks }) =>
        (chunks ?? []).map(({ snippet, embedding }, chunk) => ({
          ...{ trace_id, span_id, chunk, snippet },
          dimensions: embedding.length,
          embedding: `[${embedding.map(shortly).join(',')}]`,
        })),
      );
      await ask(WRITE, [model, JSON.stringify(rows), JSON.stringify(vectors)]);
    },

    /** Forgets what other models made. Nothing is due under this one. */
    forgetOthers: () => ask('delete from embedded_spans where model <> $1', [model]),

    async status(): Promise<SearchStatus> {
      const [row] = await ask<Omit<SearchStatus, 'model'>>(STATUS(spans), [model]);
      if (!row) throw new Error('Cannot read the status: a count gave no row');
      return { model, ...row };
    },
  };
}

/** As exact as the 32 bits that are kept of it. */
const shortly = (value: number) => Number(value.toPrecision(8));

const literal = (ids: readonly string[]) => `{${ids.join(',')}}`;

const WRITE = `
with entry as (
  select * from jsonb_to_recordset($2::jsonb) as r (trace_id uuid, span_id uuid, session_id uuid, fingerprint text,
    content_hash text, state text, count integer, attempts integer, reason text, retry_in_seconds double precision)
), fewer as (
  delete from span_embeddings e using entry
   where e.model = $1 and e.trace_id = entry.trace_id and e.span_id = entry.span_id and e.chunk >= entry.count
), written as (
  insert into embedded_spans (model, trace_id, span_id, session_id, fingerprint, content_hash, state, chunks, attempts,
                              reason, last_failed_at, retry_at)
  select $1, trace_id, span_id, session_id, fingerprint, content_hash, state, coalesce(count, 0), attempts, reason,
         case when state = 'failed' then now() end, now() + make_interval(secs => retry_in_seconds)
    from entry
  on conflict (model, trace_id, span_id) do update
    set session_id = excluded.session_id, fingerprint = excluded.fingerprint, content_hash = excluded.content_hash,
        state = excluded.state, attempts = excluded.attempts, reason = excluded.reason,
        last_failed_at = excluded.last_failed_at, retry_at = excluded.retry_at,
        chunks = case when (select count from entry where entry.trace_id = embedded_spans.trace_id
                               and entry.span_id = embedded_spans.span_id) is null
                 then embedded_spans.chunks else excluded.chunks end
)
insert into span_embeddings (model, trace_id, span_id, chunk, dimensions, snippet, embedding)
select $1, trace_id, span_id, chunk, dimensions, snippet, embedding::vector
  from jsonb_to_recordset($3::jsonb)
       as r (trace_id uuid, span_id uuid, chunk integer, snippet text, dimensions integer, embedding text)
on conflict (model, trace_id, span_id, chunk) do update
  set dimensions = excluded.dimensions, snippet = excluded.snippet, embedding = excluded.embedding, embedded_at = now()`;

const INSTANT = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`;

const STATUS = (spans: string) => `
select count(*)::integer as spans,
       count(*) filter (where e.state = 'embedded' and not ${DUE})::integer as embedded,
       count(*) filter (where e.state = 'empty' and not ${DUE})::integer as empty,
       count(*) filter (where e.state = 'failed' and not ${DUE})::integer as failed,
       count(*) filter (where ${DUE})::integer as pending,
       (select count(*) from span_embeddings where model = $1)::integer as chunks,
       (select coalesce(json_agg(o.model order by o.model), '[]')
          from (select distinct model from embedded_spans where model <> $1) as o) as other_models,
       (select coalesce(json_agg(f), '[]') from (
          select session_id, trace_id, span_id, reason, attempts,
                 to_char(last_failed_at at time zone 'UTC', ${INSTANT}) as last_failed_at,
                 to_char(retry_at at time zone 'UTC', ${INSTANT}) as retry_at
            from embedded_spans where model = $1 and state = 'failed'
           order by embedded_spans.last_failed_at desc, trace_id, span_id limit 20) as f) as failures
  from ${spans} s left join embedded_spans e on ${KNOWN}
 where ${MAIN}`;
