/** The turns of a session for verification: each as the database returns it, in the order of the chain, with tombstones. */
import { sql } from 'drizzle-orm';
import type { TurnFacts } from '../../merkle/turn-chain.ts';
import { lastCorrectionOf } from '../derive/session-turns.ts';
import { instant, pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

/**
 * The state of a session's chain. When it is the same before and after its rows are read, intake, derivation and purges have not
 * changed them meanwhile.
 */
export type ChainHead = {
  session_id: string;
  harness_id: string;
  harness_session_id: string;
  turn_count: number;
  head_turn_hash: string | null;
  tombstones: number;
  corrections: number; // the highest id among those that move turns in or out
  derive_version: number | null; // of the rules that made the projection; null: not derived yet
  derive_mark: number | null; // null: nothing waits
  from_scratch: boolean; // its turns have to be read again
  removing: boolean; // retention is removing it: its turns may have tombstones already
};

/** Null: there is no such session. */
export async function chainHead(db: Sql, { session_id }: { session_id: string }): Promise<ChainHead | null> {
  const [head] = await db.rows<ChainHead>(sql`
    select s.session_id, s.harness_id, s.harness_session_id, s.turn_count, encode(s.head_turn_hash, 'hex') as head_turn_hash,
           (select count(*) from svc.tombstones b where b.session_id = s.session_id) as tombstones,
           ${lastCorrectionOf(sql`s.session_id`)} as corrections,
           r.derive_version, q.mark as derive_mark, coalesce(q.from_scratch, false) as from_scratch,
           exists (select from svc.session_removals m where m.session_id = s.session_id) as removing
      from svc.sessions s
      left join svc.session_rollups r on r.session_id = s.session_id
      left join svc.derive_queue q on q.session_id = s.session_id
     where s.session_id = ${session_id}::uuid`);
  return head ?? null;
}

/** A page of all session ids in their order, deleted ones too. */
export async function sessionIds(
  db: Sql,
  { after, limit }: { after: string | null; limit: number },
): Promise<string[]> {
  const rows = await db.rows<{ session_id: string }>(sql`
    select session_id from svc.sessions
     where ${after}::uuid is null or session_id > ${after}::uuid
     order by session_id
     limit ${limit}`);
  return rows.map(({ session_id }) => session_id);
}

/** Of all sessions, deleted ones too. */
export async function sessionCount(db: Sql, _args: Record<string, never>): Promise<number> {
  const [row] = await db.rows<{ sessions: number }>(sql`select count(*) as sessions from svc.sessions`);
  return row?.sessions ?? 0;
}

/** The facts of a turn, without the digests of its headers, which no column holds, and its hashes in the chain. Hashes are hex. */
export type ChainedTurn = {
  raw_turn_id: number;
  prev_hash: string | null;
  turn_hash: string;
  facts: Omit<TurnFacts, 'request_headers_digest' | 'response_headers_digest'>;
};

/** A purged turn's place in the chain. */
export type Tombstone = { session_seq: number; prev_hash: string | null; turn_hash: string | null };

/** In the order of `session_seq`. `more`: other links follow. */
export type ChainPage = { turns: ChainedTurn[]; tombstones: Tombstone[]; more: boolean };

const MAX_BYTES = 8 * 1024 * 1024; // of the columns whose length senders decide

/** Up to `limit` links after `after_seq`; fewer when they are large, but at least one if there is one. */
export const turnChain = (
  db: Sql,
  { session_id, after_seq, limit }: { session_id: string; after_seq: number; limit: number },
): Promise<ChainPage> =>
  db.transaction(async (tx) => {
    const places = await tx.rows<{ session_seq: number; bytes_before: number }>(sql`
      with places as (
        select t.session_seq, pg_column_size(t.meta) + pg_column_size(t.identity) + pg_column_size(t.url) as bytes
          from svc.raw_turns t where t.session_id = ${session_id}::uuid and t.session_seq > ${after_seq}
        union all
        select b.session_seq, 0 from svc.tombstones b where b.session_id = ${session_id}::uuid and b.session_seq > ${after_seq}),
      distinct_places as (
        select p.session_seq, sum(p.bytes) as bytes from places p group by p.session_seq order by p.session_seq limit ${limit + 1})
      select d.session_seq, (sum(d.bytes) over (order by d.session_seq) - d.bytes)::bigint as bytes_before
        from distinct_places d order by d.session_seq`);
    const page = places.slice(0, limit).filter(({ bytes_before }, i) => i === 0 || bytes_before < MAX_BYTES);
    const seqs = pgArray(page.map(({ session_seq }) => session_seq));
    const turns = await tx.rows<ChainedTurn['facts'] & Omit<ChainedTurn, 'facts'>>(sql`
      select t.raw_turn_id, encode(t.prev_hash, 'hex') as prev_hash, encode(t.turn_hash, 'hex') as turn_hash,
             t.session_id, t.session_seq, t.source, t.svc_proxy_request_id, t.request_id, t.outcome, t.ending, t.provider, t.format,
             t.method, t.url, t.status, t.harness_id, t.harness_session_id, t.thread_id, t.parent_harness_session_id, t.identity,
             ${instant(sql`t.requested_at`)} as requested_at, ${instant(sql`t.first_byte_at`)} as first_byte_at,
             ${instant(sql`t.last_byte_at`)} as last_byte_at, t.request_bytes, encode(t.request_digest, 'hex') as request_digest,
             t.response_bytes, encode(t.response_digest, 'hex') as response_digest, t.meta
        from svc.raw_turns t
       where t.session_id = ${session_id}::uuid and t.session_seq = any(${seqs}::integer[])
       order by t.session_seq`);
    const tombstones = await tx.rows<Tombstone>(sql`
      select b.session_seq, encode(b.prev_hash, 'hex') as prev_hash, encode(b.turn_hash, 'hex') as turn_hash
        from svc.tombstones b
       where b.session_id = ${session_id}::uuid and b.session_seq = any(${seqs}::integer[])
       order by b.session_seq, b.tombstone_id`);
    return {
      turns: turns.map(({ raw_turn_id, prev_hash, turn_hash, ...facts }) => ({
        raw_turn_id,
        prev_hash,
        turn_hash,
        facts,
      })),
      tombstones,
      more: page.length < places.length,
    };
  });
