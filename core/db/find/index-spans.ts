/** Fills the index of texts: which sessions are behind, what is to be read of them, and the rows that are written. */
import { sql } from 'drizzle-orm';
import type { FindPlace } from '../../model/find.ts';
import { instant, pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { type FoundPrompt, removeUnused, writePrompts } from './prompts.ts';

/** Counts up when texts get other terms: then all are indexed again. */
export const TERMS_VERSION = 1;

/** Spans up to this key are in the index. */
export type IndexedKey = { rev: number; trace_id: string; span_id: string };

/** After every span of its revision. */
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const FIRST_ID = '00000000-0000-0000-0000-000000000000';
export const NOTHING: IndexedKey = { rev: 0, trace_id: FIRST_ID, span_id: FIRST_ID };

/** `done` null: nothing of it is in the index. `removed`: rows were removed since. */
export type SessionBehind = { session_id: string; rev: number; done: IndexedKey | null; removed: boolean };

const behind = sql`
  svc.session_rollups r
    left join svc.session_revisions v on v.session_id = r.session_id
    left join svc.found_sessions f on f.session_id = r.session_id and f.version = ${sql.raw(String(TERMS_VERSION))}
   where f.rev is null or (f.rev, f.trace_id, f.span_id) < (coalesce(v.rev, 1), ${sql.raw(`'${LAST_ID}'::uuid, '${LAST_ID}'::uuid`)})`;

/** Those that were active last come first. */
export async function sessionsToIndex(db: Sql, { limit }: { limit: number }): Promise<SessionBehind[]> {
  type Row = Omit<SessionBehind, 'done'> & { done_rev: number | null; trace_id: string; span_id: string };
  const rows = await db.rows<Row>(sql`
    select b.session_id, b.rev, b.removed, b.done_rev, b.trace_id, b.span_id
      from (select r.session_id, coalesce(v.rev, 1) as rev, coalesce(v.floor, 1) > f.rev is true as removed, f.rev as done_rev,
                   f.trace_id, f.span_id
              from ${behind}) b
      join svc.sessions s on s.session_id = b.session_id
     order by s.last_seen_at desc, b.session_id
     limit ${limit}`);
  return rows.map(({ done_rev, trace_id, span_id, ...session }) => ({
    ...session,
    done: done_rev === null ? null : { rev: done_rev, trace_id, span_id },
  }));
}

/** A span as it is indexed; `input` and `output` are JSON. */
export type SpanToIndex = IndexedKey & {
  kind: string;
  inherited: boolean;
  at: string;
  raw_turn_id: number | null;
  input: string;
  output: string;
  error_message: string;
};

const PAGE_BYTES = 2 * 1024 * 1024;

/** `more`: there may be further ones up to the revision. */
export type SpansToIndex = { spans: SpanToIndex[]; more: boolean };

/** Spans of a session beyond the key, up to a revision, in the order of keys: as many as the limits allow, but at least one. */
export async function spansToIndex(
  db: Sql,
  { session_id, after, rev, limit }: { session_id: string; after: IndexedKey; rev: number; limit: number },
): Promise<SpansToIndex> {
  const rows = await db.rows<SpanToIndex & { found: number }>(sql`
    select k.found, p.rev, p.trace_id, p.span_id, p.kind, p.inherited_from is not null as inherited, p.raw_turn_id, ${instant(sql`p.started_at`)} as at,
           p.input::text as input, p.output::text as output, p.error_message
      from (select q.*, (count(*) over ())::integer as found,
                   sum(q.payload_bytes) over (order by q.rev, q.trace_id, q.span_id) - q.payload_bytes as bytes_before
              from (select o.rev, o.trace_id, o.span_id, o.payload_bytes
                      from svc.all_spans o
                     where o.session_id = ${session_id}::uuid and o.rev between ${after.rev} and ${rev}
                       and (o.rev, o.trace_id, o.span_id) > (${after.rev}::bigint, ${after.trace_id}::uuid, ${after.span_id}::uuid)
                     order by o.rev, o.trace_id, o.span_id
                     limit ${limit}) q) k
      join svc.all_spans p on p.session_id = ${session_id}::uuid and p.trace_id = k.trace_id and p.span_id = k.span_id
     where k.bytes_before < ${PAGE_BYTES}
     order by k.rev, k.trace_id, k.span_id`);
  const found = rows[0]?.found ?? 0;
  return { spans: rows.map(({ found: _, ...span }) => span), more: found === limit || rows.length < found };
}

/** One piece of the texts that a span has in a place. */
export type FoundText = {
  trace_id: string;
  span_id: string;
  place: FindPlace;
  piece: number;
  terms: readonly number[];
};

type Indexed = {
  session_id: string;
  /** Those that were read: what the index had of them is replaced. */
  spans: readonly Pick<IndexedKey, 'trace_id' | 'span_id'>[];
  texts: readonly FoundText[];
  prompts: readonly FoundPrompt[];
  /** Up to where the session is in the index with these. */
  done: IndexedKey;
  /** Whether the index may have had some of them before. */
  again: boolean;
};

/** @returns false: the session is being removed, and nothing was written */
export const writeIndexed = (db: Sql, { session_id, spans, texts, prompts, done, again }: Indexed): Promise<boolean> =>
  db.transaction(async (tx) => {
    const present = await tx.rows(sql`
      select 1 as one from svc.session_rollups where session_id = ${session_id}::uuid for key share`);
    if (present.length === 0) return false;
    if (again)
      await tx.rows(sql`
        delete from svc.found_texts
         where session_id = ${session_id}::uuid and span_id = any(${pgArray(spans.map(({ span_id }) => span_id))}::uuid[])`);
    if (texts.length > 0)
      await tx.rows(sql`
        insert into svc.found_texts (session_id, trace_id, span_id, place, piece, at, terms)
        select p.session_id, p.trace_id, p.span_id, k.place, k.piece, p.started_at, k.terms::smallint[]
          from unnest(${pgArray(texts.map(({ trace_id }) => trace_id))}::uuid[], ${pgArray(texts.map(({ span_id }) => span_id))}::uuid[],
                      ${pgArray(texts.map(({ place }) => place))}::text[], ${pgArray(texts.map(({ piece }) => piece))}::smallint[],
                      ${pgArray(texts.map(({ terms }) => `{${terms.join(',')}}`))}::text[])
                 as k (trace_id, span_id, place, piece, terms)
          join svc.all_spans p on p.trace_id = k.trace_id and p.span_id = k.span_id and p.session_id = ${session_id}::uuid`);
    await writePrompts(tx, session_id, prompts);
    await tx.rows(sql`
      insert into svc.found_sessions (session_id, version, rev, trace_id, span_id)
      values (${session_id}::uuid, ${TERMS_VERSION}, ${done.rev}, ${done.trace_id}::uuid, ${done.span_id}::uuid)
      on conflict (session_id) do update
         set version = excluded.version, rev = excluded.rev, trace_id = excluded.trace_id, span_id = excluded.span_id`);
    return true;
  });

/**
 * Removes from the index what the session no longer has; `all`: everything.
 * @returns whether prompts were removed that its other calls may have too: then it is to be indexed again
 */
export const pruneIndexed = (db: Sql, { session_id, all }: { session_id: string; all: boolean }): Promise<boolean> =>
  db.transaction(async (tx) => {
    const gone = all
      ? sql``
      : sql` and not exists (
          select 1 from svc.all_spans p where p.trace_id = t.trace_id and p.span_id = t.span_id and p.session_id = t.session_id)`;
    const own = sql`t.session_id = ${session_id}::uuid${gone}`;
    await tx.rows(sql`delete from svc.found_texts t where ${own}`);
    const unused = await tx.rows<{ piece_id: string }>(sql`
      delete from svc.found_prompt_uses t where ${own} returning encode(t.piece_id, 'hex') as piece_id`);
    await removeUnused(
      tx,
      unused.map(({ piece_id }) => piece_id),
    );
    return unused.length > 0;
  });

/** Removes sessions from the index, after their rollups, which a writer of it locks. Pieces of prompts that no other uses go with them. */
export async function removeIndexed(tx: Sql, session_ids: string): Promise<void> {
  await tx.rows(sql`delete from svc.found_sessions where session_id = any(${session_ids}::uuid[])`);
  await tx.rows(sql`delete from svc.found_texts where session_id = any(${session_ids}::uuid[])`);
  const unused = await tx.rows<{ piece_id: string }>(sql`
    delete from svc.found_prompt_uses where session_id = any(${session_ids}::uuid[])
    returning encode(piece_id, 'hex') as piece_id`);
  await removeUnused(
    tx,
    unused.map(({ piece_id }) => piece_id),
  );
}

/** How many spans there are, and of how many the texts are in the index. */
export async function findCoverage(
  db: Sql,
  _args: Record<string, never>,
): Promise<{ spans: number; spans_indexed: number }> {
  const [counted] = await db.rows<{ spans: number; pending: number }>(sql`
    select (select count(*) from svc.all_spans) as spans,
           (select coalesce(sum(c.pending), 0)::bigint
              from (select r.session_id, f.rev, f.trace_id, f.span_id from ${behind}) b
             cross join lateral (
               select count(*) as pending from svc.all_spans p
                where p.session_id = b.session_id
                  and (b.rev is null or (p.rev, p.trace_id, p.span_id) > (b.rev, b.trace_id, b.span_id))) c) as pending`);
  const { spans = 0, pending = 0 } = counted ?? {};
  return { spans, spans_indexed: spans - pending };
}
