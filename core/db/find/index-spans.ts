/** Fills the index of texts: which sessions are behind, what is to be read of them, and the rows that are written. */
import { sql } from 'drizzle-orm';
import type { FindPlace } from '../../model/find.ts';
import { instant, pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { useIndexes } from '../use-indexes.ts';
import { type FoundPrompts, removeUnused, writePrompts } from './prompts.ts';

/** Counts up when texts get other terms: then all are indexed again. */
export const TERMS_VERSION = 1;

/** Spans up to this key are in the index. */
export type IndexedKey = { rev: number; trace_id: string; span_id: string };

/** After every span of its revision. */
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const FIRST_ID = '00000000-0000-0000-0000-000000000000';
export const NOTHING: IndexedKey = { rev: 0, trace_id: FIRST_ID, span_id: FIRST_ID };

/** A session of which spans beyond the key are to be indexed, up to a revision. */
export type SessionBehind = {
  session_id: string;
  rev: number;
  /** How many spans it has, about. */
  spans: number;
  after: IndexedKey;
  /** Whether the index may have some of the spans beyond the key as they were before. */
  again: boolean;
  /** Whether the index has what the session no longer has. */
  outdated: boolean;
};

const CURRENT = sql.raw(String(TERMS_VERSION));
const behind = sql`
  svc.session_rollups r
    left join svc.session_revisions v on v.session_id = r.session_id
    left join svc.found_sessions f on f.session_id = r.session_id
   where f.rev is null or f.version <> ${CURRENT}
      or (f.rev, f.trace_id, f.span_id) < (coalesce(v.rev, 1), ${sql.raw(`'${LAST_ID}'::uuid, '${LAST_ID}'::uuid`)})`;

/** Those that were active last come first. */
export async function sessionsToIndex(db: Sql, { limit }: { limit: number }): Promise<SessionBehind[]> {
  type Row = Omit<SessionBehind, 'after'> & { done_rev: number; trace_id: string; span_id: string };
  const rows = await db.rows<Row>(sql`
    select b.session_id, b.rev, b.again, b.outdated, b.done_rev, b.trace_id, b.span_id,
           (select coalesce(sum(k.count::integer), 0)::integer from jsonb_each_text(b.kind_counts) k (kind, count)) as spans
      from (select r.session_id, r.kind_counts, coalesce(v.rev, 1) as rev, f.version is not null and f.version = ${CURRENT} as again,
                   f.version is not null and (f.version <> ${CURRENT} or coalesce(v.floor, 1) > f.rev) as outdated,
                   f.rev as done_rev, f.trace_id, f.span_id
              from ${behind}) b
      join svc.sessions s on s.session_id = b.session_id
     order by s.last_seen_at desc, b.session_id
     limit ${limit}`);
  return rows.map(({ done_rev, trace_id, span_id, ...session }) => ({
    ...session,
    after: session.again ? { rev: done_rev, trace_id, span_id } : NOTHING,
  }));
}

/** A span as it is indexed; `input` and `output` are JSON. */
export type SpanToIndex = IndexedKey & {
  session_id: string;
  kind: string;
  inherited: boolean;
  at: string;
  raw_turn_id: number | null;
  input: string;
  output: string;
  error_message: string;
};

const PAGE_BYTES = 2 * 1024 * 1024;

/** `more`: of the last one's session and those after it there may be further ones. */
export type SpansToIndex = { spans: SpanToIndex[]; more: boolean };

type SpansWanted = { sessions: readonly Pick<SessionBehind, 'session_id' | 'rev' | 'after'>[]; limit: number };

/** The spans of sessions beyond their keys, session by session, each in the order of keys: as many as the limits allow, but at least one. */
export const spansToIndex = (db: Sql, { sessions, limit }: SpansWanted): Promise<SpansToIndex> =>
  db.transaction(async (tx) => {
    await useIndexes(tx);
    const column = (of: (session: SpansWanted['sessions'][number]) => string | number) => pgArray(sessions.map(of));
    const rows = await tx.rows<SpanToIndex & { found: number }>(sql`
      select k.found, k.session_id, k.rev, k.trace_id, k.span_id, p.kind, p.inherited_from is not null as inherited, p.raw_turn_id,
             ${instant(sql`p.started_at`)} as at, p.input::text as input, p.output::text as output, p.error_message
        from (select q.*, (count(*) over ())::integer as found,
                     sum(q.payload_bytes) over (order by q.n, q.rev, q.trace_id, q.span_id) - q.payload_bytes as bytes_before
                from (select s.n, s.session_id, o.*
                        from unnest(${column((s) => s.session_id)}::uuid[], ${column((s) => s.rev)}::bigint[], ${column((s) => s.after.rev)}::bigint[],
                                    ${column((s) => s.after.trace_id)}::uuid[], ${column((s) => s.after.span_id)}::uuid[])
                               with ordinality as s (session_id, rev, after_rev, after_trace_id, after_span_id, n)
                       cross join lateral (
                         select o.rev, o.trace_id, o.span_id, o.payload_bytes
                           from svc.all_spans o
                          where o.session_id = s.session_id and o.rev between s.after_rev and s.rev
                            and (o.rev, o.trace_id, o.span_id) > (s.after_rev, s.after_trace_id, s.after_span_id)
                          order by o.rev, o.trace_id, o.span_id
                          limit ${limit}) o
                       order by s.n, o.rev, o.trace_id, o.span_id
                       limit ${limit}) q) k
       cross join lateral (
         select o.kind, o.inherited_from, o.raw_turn_id, o.started_at, o.input, o.output, o.error_message
           from svc.all_spans o
          where o.session_id = k.session_id and o.trace_id = k.trace_id and o.span_id = k.span_id limit 1) p
       where k.bytes_before < ${PAGE_BYTES}
       order by k.n, k.rev, k.trace_id, k.span_id`);
    const found = rows[0]?.found ?? 0;
    return { spans: rows.map(({ found: _, ...span }) => span), more: found === limit || rows.length < found };
  });

/** One piece of the texts that a span has in a place. `at`: when the span began. */
export type FoundText = {
  session_id: string;
  trace_id: string;
  span_id: string;
  place: FindPlace;
  piece: number;
  at: string;
  terms: readonly number[];
};

/** `rev`: at which it was read. `done`: up to where it is in the index with the texts that are written. */
export type IndexedSession = { session_id: string; rev: number; done: IndexedKey };

type Indexed = {
  sessions: readonly IndexedSession[];
  /** Those that were read of which the index may have had something before: it is replaced. */
  replaced: readonly Pick<SpanToIndex, 'session_id' | 'span_id'>[];
  texts: readonly FoundText[];
  prompts: FoundPrompts;
};

/** @returns the sessions of which it was written. Of the others rows were removed since they were read, or are being removed */
export const writeIndexed = (db: Sql, { sessions, replaced, texts, prompts }: Indexed): Promise<string[]> =>
  db.transaction(async (tx) => {
    await useIndexes(tx);
    // Who removes sessions locks several, in an order of their own: whoever waited for one might wait for ever.
    const present = await tx.rows<{ session_id: string }>(sql`
      select r.session_id
        from unnest(${pgArray(sessions.map(({ session_id }) => session_id))}::uuid[], ${pgArray(sessions.map(({ rev }) => rev))}::bigint[])
               as k (session_id, rev)
        join svc.session_rollups r on r.session_id = k.session_id
        left join svc.session_revisions v on v.session_id = k.session_id
       where coalesce(v.floor, 1) <= k.rev
         for key share of r skip locked`);
    const ids = new Set(present.map(({ session_id }) => session_id));
    const isPresent = ({ session_id }: { session_id: string }) => ids.has(session_id);
    await removeTexts(tx, replaced.filter(isPresent));
    await writeTexts(tx, texts.filter(isPresent));
    await writePrompts(tx, { pieces: prompts.pieces, uses: prompts.uses.filter(isPresent) });
    await writeDone(tx, sessions.filter(isPresent));
    return [...ids];
  });

async function removeTexts(tx: Sql, spans: Indexed['replaced']): Promise<void> {
  if (spans.length === 0) return;
  await tx.rows(sql`
    delete from svc.found_texts t
     using unnest(${pgArray(spans.map(({ session_id }) => session_id))}::uuid[], ${pgArray(spans.map(({ span_id }) => span_id))}::uuid[])
             as k (session_id, span_id)
     where t.session_id = k.session_id and t.span_id = k.span_id`);
}

async function writeTexts(tx: Sql, texts: readonly FoundText[]): Promise<void> {
  if (texts.length === 0) return;
  const column = (of: (text: FoundText) => string | number) => pgArray(texts.map(of));
  await tx.rows(sql`
    insert into svc.found_texts (session_id, trace_id, span_id, place, piece, at, terms)
    select k.session_id, k.trace_id, k.span_id, k.place, k.piece, k.at, k.terms::smallint[]
      from unnest(${column((t) => t.session_id)}::uuid[], ${column((t) => t.trace_id)}::uuid[], ${column((t) => t.span_id)}::uuid[],
                  ${column((t) => t.place)}::text[], ${column((t) => t.piece)}::smallint[], ${column((t) => t.at)}::timestamptz[],
                  ${column((t) => `{${t.terms.join(',')}}`)}::text[])
             as k (session_id, trace_id, span_id, place, piece, at, terms)`);
}

async function writeDone(tx: Sql, sessions: Indexed['sessions']): Promise<void> {
  if (sessions.length === 0) return;
  const column = (of: (session: Indexed['sessions'][number]) => string | number) => pgArray(sessions.map(of));
  await tx.rows(sql`
    insert into svc.found_sessions (session_id, version, rev, trace_id, span_id)
    select k.session_id, ${CURRENT}, k.rev, k.trace_id, k.span_id
      from unnest(${column((s) => s.session_id)}::uuid[], ${column((s) => s.done.rev)}::bigint[],
                  ${column((s) => s.done.trace_id)}::uuid[], ${column((s) => s.done.span_id)}::uuid[])
             as k (session_id, rev, trace_id, span_id)
    on conflict (session_id) do update
       set version = excluded.version, rev = excluded.rev, trace_id = excluded.trace_id, span_id = excluded.span_id`);
}

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
              from (select r.session_id, case when f.version = ${CURRENT} then f.rev end as rev, f.trace_id, f.span_id from ${behind}) b
             cross join lateral (
               select count(*) as pending from svc.all_spans p
                where p.session_id = b.session_id
                  and (b.rev is null or (p.rev, p.trace_id, p.span_id) > (b.rev, b.trace_id, b.span_id))) c) as pending`);
  const { spans = 0, pending = 0 } = counted ?? {};
  return { spans, spans_indexed: spans - pending };
}
