/** Sessions that were merged into others: what people and cassettes made of them still names them, and goes with the others. */
import { sql } from 'drizzle-orm';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

/**
 * The ids of sessions whose turns all count for other sessions by now, at least one of them for one of these, or for one when it was
 * removed. Call it before the turns are deleted, and with them their corrections.
 */
export async function mergedInto(tx: Sql, session_ids: readonly string[]): Promise<string[]> {
  if (session_ids.length === 0) return [];
  const ids = sql`any(${pgArray(session_ids)}::uuid[])`;
  const rows = await tx.rows<{ session_id: string }>(sql`
    with own as (
      select e.raw_turn_id
        from (select r.raw_turn_id from svc.raw_turns r where r.session_id = ${ids}
              union
              select k.raw_turn_id from svc.raw_turn_corrections k where k.session_id = ${ids}) c
        join svc.effective_turns e on e.raw_turn_id = c.raw_turn_id and e.session_id = ${ids}),
    sources as (
      select r.session_id from own o join svc.raw_turns r on r.raw_turn_id = o.raw_turn_id
       union
      select k.session_id from own o join svc.raw_turn_corrections k on k.raw_turn_id = o.raw_turn_id
       union
      select b.session_id from svc.tombstones b where b.purged_session_id = ${ids})
    select f.session_id
      from sources f
     where f.session_id <> all(${pgArray(session_ids)}::uuid[])
       and not exists (
         select from (select r.raw_turn_id from svc.raw_turns r where r.session_id = f.session_id
                      union
                      select k.raw_turn_id from svc.raw_turn_corrections k where k.session_id = f.session_id) c
           join svc.effective_turns e on e.raw_turn_id = c.raw_turn_id and e.session_id = f.session_id)
     order by f.session_id`);
  return rows.map(({ session_id }) => session_id);
}

/** Deletes the names that people gave them. */
export const removeNames = (tx: Sql, session_ids: readonly string[]): Promise<unknown> =>
  tx.rows(sql`
    update svc.session_edits set display_name = null
     where session_id = any(${pgArray(session_ids)}::uuid[]) and display_name is not null`);
