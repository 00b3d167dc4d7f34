/** How is everything derived thrown away? It is made again from the capture log, which stays as it is. */
import { type SQL, sql } from 'drizzle-orm';
import type { Sql } from './sql.ts';

/**
 * Deletes what intake and derivation made of raw turns, of one session or of all, and marks those sessions from scratch.
 * Whoever is at work on one of them loses the lease. Gives the number of sessions marked.
 */
export const resetProjection = (db: Sql, { session_id }: { session_id: string | null }): Promise<number> =>
  db.transaction(async (tx) => {
    const ours: SQL = session_id === null ? sql`true` : sql`session_id = ${session_id}`;
    // Intake writes nodes under these locks: what it adds meanwhile would hang on nodes that are gone.
    await tx.rows(sql`select session_id from svc.sessions where ${ours} order by session_id for update`);
    const marked = await tx.rows(sql`
      insert into svc.derive_queue as q (session_id, from_scratch)
      select session_id, true from svc.sessions where turn_count > 0 and ${ours}
      on conflict (session_id) do update
         set mark = q.mark + 1, from_scratch = true, leased_until = null, lease_token = null, attempts = 0, try_after = now(),
             error = null, parked_at = null
      returning session_id`);
    await tx.rows(sql`delete from svc.span_links where ${ours}`);
    await tx.rows(sql`delete from svc.spans where ${ours}`);
    await tx.rows(sql`delete from svc.traces where ${ours}`);
    await tx.rows(sql`delete from svc.session_rollups where ${ours}`);
    await tx.rows(sql`delete from svc.derive_states where ${ours}`);
    await tx.rows(sql`delete from svc.nodes where ${ours}`);
    await tx.rows(sql`delete from svc.calls where ${ours}`);
    await tx.rows(sql`select pg_notify('svc_dirty', '')`);
    return marked.length;
  });
