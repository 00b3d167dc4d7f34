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
 * The same for a session that has been derived: when that wrote rows that can be read, or turns came in since the last record.
 * An unchanged session that is derived again is not published.
 */
export async function recordDerived(
  tx: Sql,
  { session_id, wrote }: { session_id: string; wrote: boolean },
): Promise<void> {
  await tx.rows(sql`
    insert into svc.session_changes as c (session_id, turn_count)
    select session_id, turn_count from svc.sessions where session_id = ${session_id}::uuid
    on conflict (session_id) do update
       set changed_by = excluded.changed_by, changed_at = excluded.changed_at, turn_count = excluded.turn_count
     where ${wrote}::boolean or c.turn_count <> excluded.turn_count`);
}
