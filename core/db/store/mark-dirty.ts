/** How does a session come to be derived? It is queued, with everything that is stored in the same transaction. */
import { sql } from 'drizzle-orm';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

/** What had been parked is tried again at once: the new turn may be what it lacked. The sessions of `anew` are read from the first turn. */
export async function markDirty(
  tx: Sql,
  sessions: readonly string[],
  anew: ReadonlySet<string> = new Set(),
): Promise<void> {
  const ids = [...sessions].sort();
  await tx.rows(sql`
    insert into svc.derive_queue as q (session_id, from_scratch)
    select session_id, from_scratch
      from unnest(${pgArray(ids)}::uuid[], ${pgArray(ids.map((id) => anew.has(id)))}::boolean[]) as u (session_id, from_scratch)
    on conflict (session_id) do update
       set mark = q.mark + 1, from_scratch = q.from_scratch or excluded.from_scratch, try_after = now(), parked_at = null`);
}

/** Hints to whoever derives that something waits, once the transaction commits. */
export const notifyDirty = (tx: Sql): Promise<unknown> => tx.rows(sql`select pg_notify('svc_dirty', '')`);
