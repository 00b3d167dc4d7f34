/** The ledger of embedding: what was embedded of which span, and what is still to do. */
import type { Db, Progress } from '../../core/cassette/contract.ts';
import { MOST_SESSIONS, type Scope } from './changed-sessions.ts';
import { listedSpans } from './listed-spans.ts';
import type { SearchStatus } from './model.ts';
import { explained, type Relations } from './relations.ts';
import { uuids, type VectorStore } from './vector-store.ts';

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

type EntryKey = SpanRef & { model: string };

type GoneFrom = { relation(parameter: number): string; values: string[] };

/** A span that has no text yet is not due, and keeps what was embedded of it before. */
const DUE = `(l.fingerprint <> '' and
  (e.span_id is null or e.fingerprint <> l.fingerprint or e.session_id <> l.session_id or coalesce(e.retry_at <= now(), false)))`;
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
  /** The spans of a scope as a relation, with the values of its parameters, the first of which has that number. */
  const comparedTo = async (scope: Scope, parameter: number): Promise<{ list: string; values: string[] }> => {
    if (scope) {
      const { relation, value } = await store.part(scope);
      return { list: relation(parameter), values: [value] };
    }
    await store.refresh();
    return { list: listed, values: [] };
  };
  /** Deletes entries whose spans are not in a relation, which has the second parameter. Ends early at the signal. @returns how many */
  const deleteGone = async (within: string, { relation, values }: GoneFrom, signal: AbortSignal): Promise<number> => {
    for (let deleted = 0; ; ) {
      const gone = await storeRows<EntryKey>(
        `select e.model, e.trace_id, e.span_id from embedded_spans e
          where ${within} and not exists (
            select 1 from ${relation(2)} l where l.trace_id = e.trace_id and l.span_id = e.span_id)
          limit ${GONE_AT_ONCE}`,
        values,
      );
      for (let at = 0; at < gone.length && !signal.aborted; at += DELETED_AT_ONCE)
        await storeRows(DELETE, [JSON.stringify(gone.slice(at, at + DELETED_AT_ONCE))]);
      deleted += gone.length;
      if (gone.length < GONE_AT_ONCE || signal.aborted) return deleted;
    }
  };
  return {
    /** Deletes spans that no longer exist, of every model; at the signal not all of them. @returns whether there may be fewer than before, for that or another reason */
    async prune(scope: Scope, signal: AbortSignal): Promise<boolean> {
      if (!scope) {
        await store.refresh();
        await deleteGone('true', { relation: () => listed, values: [] }, signal);
        return true;
      }
      if (scope.length === 0) return false;
      const part = await store.part(scope);
      const ofScope = { relation: part.relation, values: [uuids(scope), part.value] };
      const deleted = await deleteGone('e.session_id = any($1::uuid[])', ofScope, signal);
      const [row] = await storeRows<{ sessions: number }>(
        `select count(distinct l.session_id)::integer as sessions from ${part.relation(1)} l`,
        [part.value],
      );
      await store.forget(scope, part);
      return deleted > 0 || !row || row.sessions < scope.length; // entries of a purged session are gone already
    },

    /** What is to be compared although its session has not changed: sessions with failed spans whose retry is due, and other models. */
    async waiting(): Promise<{ session_ids: string[]; others: boolean }> {
      const [row] = await storeRows<{ session_ids: string[]; others: boolean }>(WAITING, [model]);
      return row ?? { session_ids: [], others: true };
    },

    /** New and changed spans, and failed ones that are due for a retry; the newest first. */
    async due(scope: Scope, most: number): Promise<Due[]> {
      if (scope?.length === 0) return [];
      const { list, values } = await comparedTo(scope, 3);
      return storeRows<Due>(
        `select l.trace_id, l.span_id, e.content_hash, e.state, coalesce(e.attempts, 0) as attempts
           from ${list} l left join embedded_spans e on ${KNOWN}
          where ${DUE}
          order by l.started_at desc, l.trace_id, l.span_id limit $2::integer`,
        [model, most, ...values],
      );
    },

    /** Sessions with spans that have no text yet and no entry, one more than can be remembered at most. */
    async withoutText(scope: Scope): Promise<string[]> {
      if (scope?.length === 0) return [];
      const { list, values } = await comparedTo(scope, 2);
      const rows = await storeRows<{ session_id: string }>(
        `select distinct l.session_id from ${list} l left join embedded_spans e on ${KNOWN}
          where l.fingerprint = '' and e.span_id is null limit ${MOST_SESSIONS + 1}`,
        [model, ...values],
      );
      return rows.map(({ session_id }) => session_id);
    },

    /** The texts of those spans that still exist. */
    async read(due: readonly Due[]): Promise<SpanToEmbed[]> {
      const rows = await queryRows<Omit<SpanToEmbed, keyof Due> & SpanRef>(
        db.query.bind(db),
        `select l.trace_id, l.span_id, l.session_id, l.fingerprint, l.plain_text
           from unnest($1::uuid[], $2::uuid[]) as requested (trace_id, span_id)
           join (${listedSpans(relations.spans)}) l on l.trace_id = requested.trace_id and l.span_id = requested.span_id
          where l.plain_text is not null`,
        [uuids(due.map(({ trace_id }) => trace_id)), uuids(due.map(({ span_id }) => span_id))],
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

    /**
     * Deletes some spans of other models with their vectors; all at once would take longer than a statement may. Call it when nothing is
     * due under this one. @returns whether there may be more
     */
    async forgetOthers(): Promise<boolean> {
      const deleted = await storeRows(FORGET_OTHERS, [model]);
      return deleted.length === DELETED_AT_ONCE;
    },

    /** @param due all that is due, or the first `most`: only in the latter case are spans compared again */
    async counts(due: readonly Due[], most: number): Promise<Progress> {
      const [row] = await storeRows<Progress>(due.length < most ? TOTALS : COUNTS(listed), [model]);
      const { done, pending, failed } = row ?? { done: 0, pending: 0, failed: 0 };
      if (due.length >= most) return { done, pending, failed };
      const again = due.filter(({ state }) => state === 'failed').length;
      const changed = due.filter(({ state }) => state !== null).length - again;
      return { done: Math.max(0, done - changed), pending: due.length, failed: Math.max(0, failed - again) };
    },

    /**
     * @param scope the sessions outside it are in the ledger as they are
     * @returns `complete`: so are all sessions, and the ledger has no others
     */
    async status(scope: Scope): Promise<{ status: SearchStatus; complete: boolean }> {
      const { list, values } = await comparedTo(scope, 3);
      const parameters = scope ? [model, uuids(scope), ...values] : [model];
      const [row] = await storeRows<Omit<SearchStatus, 'model'> & { entries: number }>(
        STATUS(list, scope !== null),
        parameters,
      );
      if (!row) throw new Error('Cannot read the status: a count gave no row');
      const { entries, ...counts } = row;
      return {
        status: { model, ...counts },
        complete: entries === counts.spans && entries === counts.embedded + counts.empty + counts.failed,
      };
    },
  };
}

/** As exact as the 32 bits in which the value is stored. */
const rounded = (value: number) => Number(value.toPrecision(8));

const keyOf = ({ trace_id, span_id }: SpanRef) => `${trace_id}/${span_id}`;

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

/** Entries that are looked for with one comparison. */
const GONE_AT_ONCE = 10_000;
/** Their vectors go with them, and a statement may take ten seconds. */
const DELETED_AT_ONCE = 500;
const DELETE = `
delete from embedded_spans e using jsonb_to_recordset($1::jsonb) as g (model text, trace_id uuid, span_id uuid)
 where e.model = g.model and e.trace_id = g.trace_id and e.span_id = g.span_id`;
/** By the primary key on either side of the model, so that those of the model are not passed over at each call. $1: the model. */
const FORGET_OTHERS = `
  with others as (
    select o.* from (
      (select model, trace_id, span_id from embedded_spans where model < $1 limit ${DELETED_AT_ONCE})
      union all
      (select model, trace_id, span_id from embedded_spans where model > $1 limit ${DELETED_AT_ONCE})) o
     limit ${DELETED_AT_ONCE})
  delete from embedded_spans e using others o
   where e.model = o.model and e.trace_id = o.trace_id and e.span_id = o.span_id
  returning 1 as deleted`;

/** Other models are found by the index: its first and last entry. */
const WAITING = `
select coalesce((select json_agg(distinct f.session_id)
                   from (select session_id from embedded_spans
                          where model = $1 and state = 'failed' and retry_at <= now() limit ${MOST_SESSIONS + 1}) f), '[]') as session_ids,
       coalesce((select min(model) from embedded_spans) <> $1, false)
         or coalesce((select max(model) from embedded_spans) <> $1, false) as others`;

const OTHER_MODELS = `
with recursive other as (
  select min(model) as model from embedded_spans
  union all
  select (select min(e.model) from embedded_spans e where e.model > other.model) from other where other.model is not null)
select coalesce(json_agg(model order by model), '[]') from other where model <> $1`;

/** Of the sessions outside the scope only entries are read. */
const STATUS = (list: string, scoped: boolean) => `
with settled as (
  select count(*) as spans, count(*) filter (where state = 'embedded') as embedded, count(*) filter (where shortened) as shortened,
         count(*) filter (where state = 'empty') as empty, count(*) filter (where state = 'failed') as failed,
         coalesce(sum(chunks), 0) as chunks
    from embedded_spans where model = $1 and ${scoped ? 'session_id <> all($2::uuid[])' : 'false'}
), compared as (
  select count(*) as spans, count(*) filter (where e.state = 'embedded' and not ${DUE}) as embedded,
         count(*) filter (where e.shortened and not ${DUE}) as shortened,
         count(*) filter (where e.state = 'empty' and not ${DUE}) as empty,
         count(*) filter (where e.state = 'failed' and not ${DUE}) as failed, count(*) filter (where ${DUE}) as pending
    from ${list} l left join embedded_spans e on ${KNOWN}
), own as (
  select count(*) as entries, coalesce(sum(chunks), 0) as chunks
    from embedded_spans where model = $1 and ${scoped ? 'session_id = any($2::uuid[])' : 'true'}
)
select (s.spans + c.spans)::integer as spans, (s.embedded + c.embedded)::integer as embedded,
       (s.shortened + c.shortened)::integer as shortened, (s.empty + c.empty)::integer as empty,
       (s.failed + c.failed)::integer as failed, c.pending::integer as pending,
       (s.chunks + o.chunks)::integer as chunks, (s.spans + o.entries)::integer as entries,
       (${OTHER_MODELS}) as other_models,
       (select coalesce(json_agg(f), '[]') from (
          select session_id, trace_id, span_id, reason, attempts,
                 to_char(last_failed_at at time zone 'UTC', ${INSTANT}) as last_failed_at,
                 to_char(retry_at at time zone 'UTC', ${INSTANT}) as retry_at
            from embedded_spans where model = $1 and state = 'failed'
           order by embedded_spans.last_failed_at desc, trace_id, span_id limit 20) as f) as failures
  from settled s, compared c, own o`;
