/** The owner of a call that several sessions hold: it counts in one, which is decided here whenever a session gains or loses the call. */
import { sql } from 'drizzle-orm';
import { hexArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { markDirty } from './mark-dirty.ts';

/** Intake only reads the current claims, so its lock is shared; a claim takes it exclusively, for a moment. */
export const lockClaims = (tx: Sql, mode: 'to claim' | 'to look') =>
  tx.rows(
    mode === 'to claim'
      ? sql`select pg_advisory_xact_lock(hashtext('svc.transcript_claims'))`
      : sql`select pg_advisory_xact_lock_shared(hashtext('svc.transcript_claims'))`,
  );

/**
 * Decides where these calls count: in the session of the wire, where one came over it; else in one whose file says that it made the
 * call, before one that copied it; of equals in that whose file ended first, since a copy continues where its origin ended; else by
 * id, so that every process decides alike. Sessions other than `except` whose claims have another owner now are derived again.
 * Within a transaction that holds `lockClaims`. (Keys in hex.)
 * @returns the sessions whose claims have another owner now
 */
export async function settleOwners(tx: Sql, call_keys: readonly string[], except: string | null): Promise<string[]> {
  if (call_keys.length === 0) return [];
  const changed = await tx.rows<{ session_id: string }>(sql`
    with owners as (
      select k.call_key, coalesce(w.session_id, c.session_id) as session_id,
             case when w.session_id is null then c.call_id else '' end as call_id, w.raw_turn_id
        from (select distinct call_key from svc.transcript_claims where call_key = any(${hexArray(call_keys)}::bytea[])) k
       cross join lateral (
         select t.session_id, t.call_id
           from svc.transcript_claims t
          where t.call_key = k.call_key
          order by not t.is_own, t.file_ended_at, t.session_id
          limit 1) c
        left join lateral (
         select s.session_id, s.raw_turn_id
           from svc.calls s
          where s.call_key = k.call_key
          order by s.raw_turn_id
          limit 1) w on true),
    changed as (
      update svc.transcript_claims t
         set owner_session_id = o.session_id, owner_call_id = o.call_id, owner_turn_id = o.raw_turn_id
        from owners o
       where t.call_key = o.call_key
         and (t.owner_session_id, t.owner_call_id, t.owner_turn_id)
             is distinct from (o.session_id, o.call_id, o.raw_turn_id)
      returning t.session_id)
    insert into svc.transcript_claim_marks as m (session_id, mark)
    select distinct session_id, 1 from changed order by session_id
    on conflict (session_id) do update set mark = m.mark + 1
    returning session_id`);
  const session_ids = changed.map(({ session_id }) => session_id);
  const others = session_ids.filter((id) => id !== except);
  if (others.length > 0) await markDirty(tx, others);
  return session_ids;
}
