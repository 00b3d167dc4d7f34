/** Queues sessions for derivation, in the same transaction that stores their turns. */
import { sql } from 'drizzle-orm';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

/** A parked session is tried again at once: the new turn may be what it lacked. Sessions in `fromScratch` are read from the first turn. */
export async function markDirty(
  tx: Sql,
  sessions: readonly string[],
  fromScratch: ReadonlySet<string> = new Set(),
): Promise<void> {
  const ids = [...sessions].sort();
  await tx.rows(sql`
    insert into svc.derive_queue as q (session_id, from_scratch)
    select session_id, from_scratch
      from unnest(${pgArray(ids)}::uuid[], ${pgArray(ids.map((id) => fromScratch.has(id)))}::boolean[]) as u (session_id, from_scratch)
    on conflict (session_id) do update
       set mark = q.mark + 1, from_scratch = q.from_scratch or excluded.from_scratch, try_after = now(), parked_at = null`);
}

/** Notifies the deriving processes that sessions are queued, once the transaction commits. */
export const notifyDirty = (tx: Sql): Promise<unknown> => tx.rows(sql`select pg_notify('svc_dirty', '')`);
