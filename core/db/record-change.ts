/** Records that a session reads differently now: its row in the table of changes moves to the front. */
import { sql } from 'drizzle-orm';
import { pgArray } from './literals.ts';
import type { Sql } from './sql.ts';

/**
 * Publishes to every reader of the events that these sessions changed or are gone, once the transaction commits. Call it last: until
 * the commit no other transaction can record a change of the same sessions. Rows are locked in one order, so two that record several
 * cannot deadlock.
 */
export async function recordChange(tx: Sql, session_ids: readonly string[]): Promise<void> {
  if (session_ids.length === 0) return;
  await tx.rows(sql`
    insert into svc.session_changes (session_id)
    select distinct session_id from unnest(${pgArray(session_ids)}::uuid[]) as n (session_id) order by session_id
    on conflict (session_id) do update set changed_by = excluded.changed_by, changed_at = excluded.changed_at`);
}

/**
 * The same for sessions that have been derived: when that wrote rows that can be read, or turns came in since the last record.
 * An unchanged session that is derived again is not published.
 */
export async function recordDerived(
  tx: Sql,
  sessions: readonly { session_id: string; wrote: boolean }[],
): Promise<void> {
  await tx.rows(sql`
    with derived as materialized (
      select *
        from unnest(${pgArray(sessions.map(({ session_id }) => session_id))}::uuid[],
                    ${pgArray(sessions.map(({ wrote }) => wrote))}::boolean[]) as d (session_id, wrote))
    insert into svc.session_changes as c (session_id, turn_count)
    select s.session_id, s.turn_count from derived d join svc.sessions s on s.session_id = d.session_id order by s.session_id
    on conflict (session_id) do update
       set changed_by = excluded.changed_by, changed_at = excluded.changed_at, turn_count = excluded.turn_count
     where c.turn_count <> excluded.turn_count
        or exists (select 1 from derived d where d.session_id = c.session_id and d.wrote)`);
}
