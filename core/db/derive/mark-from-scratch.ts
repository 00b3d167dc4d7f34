/** Marks sessions to be derived again from their bytes; the existing projection is served until the new one replaces it. */
import { type SQL, sql } from 'drizzle-orm';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

/** `marked_at`: the time up to which sessions count as marked, for `markedPending`. */
export type Marked = { sessions: number; marked_at: string };

/**
 * Marks one session or all of them: their raw turns are read again, and derived from the first. A worker that derives one of them
 * loses its lease; parked sessions are tried again.
 */
export const markFromScratch = (db: Sql, { session_id }: { session_id: string | null }): Promise<Marked> =>
  db.transaction(async (tx) => {
    const scope: SQL = session_id === null ? sql`true` : sql`session_id = ${session_id}`;
    const [marked] = await tx.rows<Marked>(sql`
      with marked as (
        insert into svc.derive_queue as q (session_id, from_scratch)
        select session_id, true
          from svc.sessions s
         where ${scope}
           and (turn_count > 0 or exists (select 1 from svc.raw_turn_corrections k where k.session_id = s.session_id))
        on conflict (session_id) do update
           set mark = q.mark + 1, from_scratch = true, dirtied_at = now(), leased_until = null, lease_token = null, attempts = 0,
               try_after = now(), error = null, parked_at = null
        returning session_id)
      select count(*) as sessions, now()::text as marked_at from marked`);
    await tx.rows(sql`select pg_notify('svc_dirty', '')`);
    return marked ?? { sessions: 0, marked_at: '' };
  });

/** `pending`: not derived yet; `parked`: failed too often to be tried again by itself. */
export type MarkedPending = { pending: number; parked: number };

/** How many of the sessions that were marked up to `marked_at` are not derived yet. `session_ids` null: all sessions. */
export async function markedPending(
  db: Sql,
  { marked_at, session_ids }: { marked_at: string; session_ids: string[] | null },
): Promise<MarkedPending> {
  const scope: SQL = session_ids === null ? sql`true` : sql`session_id = any(${pgArray(session_ids)}::uuid[])`;
  const [row] = await db.rows<MarkedPending>(sql`
    select count(*) filter (where parked_at is null) as pending, count(*) filter (where parked_at is not null) as parked
      from svc.derive_queue
     where dirtied_at <= ${marked_at}::timestamptz and ${scope}`);
  return row ?? { pending: 0, parked: 0 };
}
