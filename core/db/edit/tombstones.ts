/** Deletes raw turns and puts a tombstone in each one's place in its chain, by which `svc verify` explains the gap. */
import { sql } from 'drizzle-orm';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

/** `session_id`: the session that is purged, for which the turn counts. */
export type PurgedTurn = { raw_turn_id: number; session_id: string; reason: string };

/** Within a transaction that has declared its purge. @returns the sessions in whose chains they were: not always those they count for */
export async function replaceByTombstones(tx: Sql, turns: readonly PurgedTurn[]): Promise<string[]> {
  const ids = pgArray(turns.map(({ raw_turn_id }) => raw_turn_id));
  await tx.rows(sql`delete from svc.raw_turn_corrections where raw_turn_id = any(${ids}::bigint[])`);
  const gone = await tx.rows<{ session_id: string }>(sql`
    with purged as materialized (
      select * from unnest(${ids}::bigint[], ${pgArray(turns.map(({ session_id }) => session_id))}::uuid[],
                           ${pgArray(turns.map(({ reason }) => reason))}::text[]) as p (raw_turn_id, purged_session_id, reason)),
    gone as (
      delete from svc.raw_turns t using purged p where t.raw_turn_id = p.raw_turn_id
      returning t.raw_turn_id, t.session_id, t.session_seq, t.turn_hash, t.prev_hash, p.purged_session_id, p.reason),
    stones as (
      insert into svc.tombstones (session_id, raw_turn_id, session_seq, turn_hash, prev_hash, purged_session_id, reason)
      select session_id, raw_turn_id, session_seq, turn_hash, prev_hash, purged_session_id, reason
        from gone order by session_id, session_seq
      on conflict (raw_turn_id) do nothing -- a partition that is being dropped has its tombstones before
      returning purged_session_id),
    counted as (
      update svc.sessions s set purged_turns = s.purged_turns + c.turns
        from (select purged_session_id, count(*) as turns from stones group by 1) c
       where s.session_id = c.purged_session_id)
    select distinct session_id from gone`);
  return gone.map(({ session_id }) => session_id);
}
