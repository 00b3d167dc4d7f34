/** The ledger of embedding: what was embedded of which span, and what is still to do. */
import type { Db, Progress } from '../../core/cassette/contract.ts';
import { listedSpans } from './listed-spans.ts';
import type { SearchStatus } from './model.ts';
import { explained, type Relations } from './relations.ts';
import type { VectorStore } from './vector-store.ts';

export type SpanRef = { trace_id: string; span_id: string };

/** A span to embed, with what the ledger knows of it; null: nothing. */
export type Due = SpanRef & {
  content_hash: string | null;
  state: 'embedded' | 'empty' | 'failed' | null;
  attempts: number;
};

export type SpanToEmbed = Due & {
  session_id: string;
  fingerprint: string;
  /** What a person wrote, and the answer of the model. */
  plain_text: string;
};

/** Whether the view has only a part of the text: it cuts at 524,288 UTF-16 units, never within a character. */
export const isCut = ({ plain_text }: Pick<SpanToEmbed, 'plain_text'>): boolean => plain_text.length >= 524_288 - 3;

/** The ledger's entry for one span, and its vectors. */
export type LedgerEntry = SpanRef & {
  session_id: string;
  fingerprint: string;
  content_hash: string;
  state: 'embedded' | 'empty' | 'failed';
  /** null: the existing chunks stay as they are. */
  chunks: readonly { snippet: string; embedding: readonly number[] }[] | null;
  /** Only its beginning was embedded. */
  shortened?: boolean;
  attempts?: number;
  reason?: string;
  /** null: never. */
  retry_in_seconds?: number | null;
};

export type Ledger = ReturnType<typeof ledgerOf>;

/** A span that has no text yet is not due, and keeps what was embedded of it before. */
const DUE = `(l.fingerprint <> '' and
  (e.span_id is null or e.fingerprint <> l.fingerprint or coalesce(e.retry_at <= now(), false)))`;
const KNOWN = 'e.model = $1 and e.trace_id = l.trace_id and e.span_id = l.span_id';

/** @param db the database that spans are read from */
export function ledgerOf(db: Db, store: VectorStore, relations: Relations, model: string) {
  const { listed } = store;
  const queryRows = async <Row>(
    query: Db['query'],
    text: string,
    parameters: readonly unknown[] = [],
  ): Promise<Row[]> => {
    try {
      return (await query<Row>(text, parameters)).rows;
    } catch (error) {
      throw explained(error, relations);
    }
  };
  const storeRows = <Row>(text: string, parameters?: readonly unknown[]) =>
    queryRows<Row>(store.query, text, parameters);
  return {
    /** Deletes spans that no longer exist, of every model. */
    async prune(): Promise<void> {
      await store.refresh();
      await storeRows(`delete from embedded_spans e
            where not exists (select 1 from ${listed} l where l.trace_id = e.trace_id and l.span_id = e.span_id)`);
    },

    /** New and changed spans, and failed ones that are due for a retry; the newest first. */
    async due(most: number): Promise<Due[]> {
      await store.refresh();
      return storeRows<Due>(
        `select l.trace_id, l.span_id, e.content_hash, e.state, coalesce(e.attempts, 0) as attempts
           from ${listed} l left join embedded_spans e on ${KNOWN}
          where ${DUE}
          order by l.started_at desc, l.trace_id, l.span_id limit $2::integer`,
        [model, most],
      );
    },

    /** The texts of those spans that still exist. */
    async read(due: readonly Due[]): Promise<SpanToEmbed[]> {
      const rows = await queryRows<Omit<SpanToEmbed, keyof Due> & SpanRef>(
        db.query.bind(db),
        `select l.trace_id, l.span_id, l.session_id, l.fingerprint, l.plain_text
           from unnest($1::uuid[], $2::uuid[]) as asked (trace_id, span_id)
           join (${listedSpans(relations.spans)}) l on l.trace_id = asked.trace_id and l.span_id = asked.span_id
          where l.plain_text is not null`,
        [literal(due.map(({ trace_id }) => trace_id)), literal(due.map(({ span_id }) => span_id))],
      );
      const known = new Map(due.map((each) => [keyOf(each), each]));
      return rows.flatMap((row) => {
        const each = known.get(keyOf(row));
        return each ? [{ ...each, ...row }] : [];
      });
    },

    /** Writes entries and vectors in one statement, so that they always agree. */
    async write(entries: readonly LedgerEntry[]): Promise<void> {
      if (entries.length === 0) return;
      const rows = entries.map(({ chunks, ...entry }) => ({
        ...{ shortened: false, attempts: 0, reason: null, retry_in_seconds: null, ...entry },
        count: chunks?.length ?? null,
      }));
      const vectors = entries.flatMap(({ trace_id, span_id, chunks }) =>
        (chunks ?? []).map(({ snippet, embedding }, chunk) => ({
          ...{ trace_id, span_id, chunk, snippet },
          dimensions: embedding.length,
          embedding: `[${embedding.map(rounded).join(',')}]`,
        })),
      );
      await storeRows(WRITE, [model, JSON.stringify(rows), JSON.stringify(vectors)]);
    },

    /** Deletes the vectors of other models. Call it when nothing is due under this one. */
    forgetOthers: () => storeRows('delete from embedded_spans where model <> $1', [model]),

    /** @param due all that is due, or the first `most`: only in the latter case are spans compared again */
    async counts(due: readonly Due[], most: number): Promise<Progress> {
      const [row] = await storeRows<Progress>(due.length < most ? TOTALS : COUNTS(listed), [model]);
      const { done, pending, failed } = row ?? { done: 0, pending: 0, failed: 0 };
      if (due.length >= most) return { done, pending, failed };
      const again = due.filter(({ state }) => state === 'failed').length;
      const changed = due.filter(({ state }) => state !== null).length - again;
      return { done: Math.max(0, done - changed), pending: due.length, failed: Math.max(0, failed - again) };
    },

    async status(): Promise<SearchStatus> {
      await store.refresh();
      const [row] = await storeRows<Omit<SearchStatus, 'model'>>(STATUS(listed), [model]);
      if (!row) throw new Error('Cannot read the status: a count gave no row');
      return { model, ...row };
    },
  };
}

/** As exact as the 32 bits in which the value is stored. */
const rounded = (value: number) => Number(value.toPrecision(8));

const keyOf = ({ trace_id, span_id }: SpanRef) => `${trace_id}/${span_id}`;

const literal = (ids: readonly string[]) => `{${ids.join(',')}}`;

const WRITE = `
with entry as (
  select * from jsonb_to_recordset($2::jsonb) as r (trace_id uuid, span_id uuid, session_id uuid, fingerprint text,
    content_hash text, state text, count integer, shortened boolean, attempts integer, reason text, retry_in_seconds double precision)
), fewer as (
  delete from span_embeddings e using entry
   where e.model = $1 and e.trace_id = entry.trace_id and e.span_id = entry.span_id and e.chunk >= entry.count
), written as (
  insert into embedded_spans (model, trace_id, span_id, session_id, fingerprint, content_hash, state, chunks, shortened,
                              attempts, reason, last_failed_at, retry_at)
  select $1, trace_id, span_id, session_id, fingerprint, content_hash, state, coalesce(count, 0), shortened,
         attempts, reason,
         case when state = 'failed' then now() end, now() + make_interval(secs => retry_in_seconds)
    from entry
  on conflict (model, trace_id, span_id) do update
    set session_id = excluded.session_id, fingerprint = excluded.fingerprint, content_hash = excluded.content_hash,
        state = excluded.state, shortened = excluded.shortened, attempts = excluded.attempts, reason = excluded.reason,
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

/** Counts all entries, whether or not they are due. */
const TOTALS = `
select count(*) filter (where state <> 'failed')::integer as done, 0 as pending,
       count(*) filter (where state = 'failed')::integer as failed
  from embedded_spans where model = $1`;

const COUNTS = (listed: string) => `
select count(*) filter (where e.state in ('embedded', 'empty') and not ${DUE})::integer as done,
       count(*) filter (where ${DUE})::integer as pending,
       count(*) filter (where e.state = 'failed' and not ${DUE})::integer as failed
  from ${listed} l left join embedded_spans e on ${KNOWN}`;

const STATUS = (listed: string) => `
select count(*)::integer as spans,
       count(*) filter (where e.state = 'embedded' and not ${DUE})::integer as embedded,
       count(*) filter (where e.shortened and not ${DUE})::integer as shortened,
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
  from ${listed} l left join embedded_spans e on ${KNOWN}`;
