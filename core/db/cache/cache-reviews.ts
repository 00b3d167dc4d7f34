/** Which sessions are to be looked at for breaks of the prompt cache, and what was found in them. */
import { sql } from 'drizzle-orm';
import type { CacheBreak } from '../../model/cache-break.ts';
import { jsonText } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { holdSlices } from '../store/purge-count.ts';

/** A page of the sessions that changed since they were looked at, in the order of their ids. `last` null: the last page. */
export async function unreviewedSessions(
  db: Sql,
  { after, rules, limit }: { after: string | null; rules: number; limit: number },
): Promise<{ session_ids: string[]; last: string | null }> {
  const rows = await db.rows<{ session_id: string; due: boolean }>(sql`
    select c.session_id, r.changed_by is distinct from c.changed_by or r.rules <> ${rules} as due
      from (select session_id, changed_by from svc.session_changes
             where ${after === null ? sql`true` : sql`session_id > ${after}::uuid`}
             order by session_id limit ${limit}) c
      left join svc.cache_reviews r on r.session_id = c.session_id
     order by c.session_id`);
  return {
    session_ids: rows.filter(({ due }) => due).map(({ session_id }) => session_id),
    last: rows.length < limit ? null : (rows.at(-1)?.session_id ?? null),
  };
}

/** The sessions that changed since a snapshot, and the snapshot for the next call. */
export async function sessionsChangedSince(
  db: Sql,
  { seen }: { seen: string | null },
): Promise<{ session_ids: string[]; seen: string }> {
  const before = sql`coalesce(${seen}::text::pg_snapshot, pg_current_snapshot())`;
  const rows = await db.rows<{ session_id: string | null; seen: string }>(sql`
    select c.session_id, pg_current_snapshot()::text as seen
      from (select 1) as one
      left join svc.session_changes c
        on c.changed_by >= pg_snapshot_xmin(${before}) and not pg_visible_in_snapshot(c.changed_by, ${before})`);
  return {
    session_ids: rows.flatMap(({ session_id }) => session_id ?? []),
    seen: rows[0]?.seen ?? '3:3:',
  };
}

/**
 * The state that a review is of; null: it is up to date, or there is no such session. `can_break`: anybody can read it, and it has a call
 * with another before it.
 */
export async function reviewOpened(
  db: Sql,
  { session_id, rules }: { session_id: string; rules: number },
): Promise<{ changed_by: string; can_break: boolean } | null> {
  const [row] = await db.rows<{ changed_by: string; can_break: boolean }>(sql`
    select c.changed_by::text as changed_by,
           coalesce(not s.is_empty and e.deleted_at is null and s.turn_count + s.moved_turns > 1, false) as can_break
      from svc.session_changes c
      left join svc.cache_reviews r on r.session_id = c.session_id
      left join svc.sessions s on s.session_id = c.session_id
      left join svc.session_edits e on e.session_id = c.session_id
     where c.session_id = ${session_id}::uuid
       and (r.changed_by is distinct from c.changed_by or r.rules <> ${rules})`);
  return row ?? null;
}

export type Review = { session_id: string; changed_by: string; rules: number; breaks: CacheBreak[] };

/**
 * Replaces what is known of a session, unless it changed meanwhile. Purges wait, or have ended; retention hides a session first, which
 * changes it.
 * @returns whether it was stored
 */
export const storeReview = (db: Sql, { session_id, changed_by, rules, breaks }: Review): Promise<boolean> =>
  db.transaction(async (tx) => {
    await holdSlices(tx, undefined);
    const [same] = await tx.rows(sql`
      select 1 as one from svc.session_changes
       where session_id = ${session_id}::uuid and changed_by = ${changed_by}::xid8 for update`);
    if (!same) return false;
    await tx.rows(sql`delete from svc.cache_breaks where session_id = ${session_id}::uuid`);
    if (breaks.length > 0)
      await tx.rows(sql`
        insert into svc.cache_breaks (session_id, raw_turn_id, at, model, cause, rewritten_tokens, lost_usd, break)
        select ${session_id}::uuid, (b ->> 'raw_turn_id')::bigint, (b ->> 'at')::timestamptz, b ->> 'model', b ->> 'cause',
               (b ->> 'rewritten_tokens')::bigint, (b ->> 'lost_usd')::numeric, b
          from jsonb_array_elements(${jsonText(breaks)}::jsonb) as n (b)
        on conflict do nothing`);
    await tx.rows(sql`
      insert into svc.cache_reviews (session_id, changed_by, rules)
      values (${session_id}::uuid, ${changed_by}::xid8, ${rules})
      on conflict (session_id) do update
         set changed_by = excluded.changed_by, rules = excluded.rules, reviewed_at = now()`);
    return true;
  });
