/** Updates of both sessions when turns of one come to count for the other. */
import { type SQL, sql } from 'drizzle-orm';
import { pgArray } from '../literals.ts';
import { recordChange } from '../record-change.ts';
import type { Sql } from '../sql.ts';
import { removeProjections, stopFolds } from './purge-session.ts';

/** The ids of the session's turns, as the latest corrections attribute them. */
export const turnsOf = (session_id: string): SQL => sql`
  select e.raw_turn_id
    from (select r.raw_turn_id from svc.raw_turns r where r.session_id = ${session_id}::uuid
          union
          select k.raw_turn_id from svc.raw_turn_corrections k where k.session_id = ${session_id}::uuid) c
    join svc.effective_turns e on e.raw_turn_id = c.raw_turn_id and e.session_id = ${session_id}::uuid`;

export async function countMoved(
  tx: Sql,
  { from, to, turns }: { from: string; to: string; turns: number },
): Promise<void> {
  if (from === to) return;
  await tx.rows(sql`
    update svc.sessions
       set moved_turns = moved_turns + case when session_id = ${to}::uuid then ${turns}::integer else -${turns}::integer end,
           emptied = false
     where session_id in (${from}::uuid, ${to}::uuid)`);
}

/** Sets a session's times to those of its first and last turn; one that has none left keeps its times. */
export const setTimes = (tx: Sql, session_id: string) =>
  tx.rows(sql`
    update svc.sessions s set started_at = x.started_at, last_seen_at = x.last_seen_at
      from (select min(t.requested_at) as started_at, max(coalesce(t.last_byte_at, t.requested_at)) as last_seen_at
              from svc.raw_turns t
             where t.raw_turn_id in (${turnsOf(session_id)})) x
     where s.session_id = ${session_id}::uuid and x.started_at is not null`);

/**
 * Removes a session from the lists if it has no turn left and no other names it as its parent: its projection is deleted, and its row
 * is marked as emptied. A new turn brings it back. True when it was removed.
 */
export const removeEmptied = (db: Sql, { session_id }: { session_id: string }): Promise<boolean> =>
  db.transaction(async (tx) => {
    const removed = await emptyOut(tx, session_id);
    if (removed) await recordChange(tx, [session_id]);
    return removed;
  });

/** The same within the caller's transaction, which records the change itself. */
export async function emptyOut(tx: Sql, session_id: string): Promise<boolean> {
  await tx.rows(sql`select session_id from svc.sessions where session_id = ${session_id}::uuid for update`);
  // A statement of its own, which sees what was committed while this one waited for the lock.
  const [needed] = await tx.rows(sql`
    select 1 from svc.sessions s
     where s.session_id = ${session_id}::uuid
       and (exists (${turnsOf(session_id)})
            or exists (select 1 from svc.session_rollups r where r.parent_session_id = s.session_id)
            or exists (select 1 from svc.sessions c
                        where c.harness_id = s.harness_id and c.parent_harness_session_id = s.harness_session_id
                          and c.session_id <> s.session_id and not c.is_empty))`);
  if (needed) return false;
  await stopFolds(tx, pgArray([session_id]));
  await removeProjections(tx, pgArray([session_id]));
  await tx.rows(sql`update svc.sessions set emptied = true where session_id = ${session_id}::uuid`);
  return true;
}
