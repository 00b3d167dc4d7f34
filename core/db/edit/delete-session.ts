/** Hides a session: by a mark beside the projection, which no later turn and no derivation removes. */
import { sql } from 'drizzle-orm';
import { recordChange } from '../record-change.ts';
import type { Sql } from '../sql.ts';

/** The raw turns stay. @returns false when there is no such session, or it is deleted already */
export const deleteSession = (db: Sql, { session_id }: { session_id: string }): Promise<boolean> =>
  db.transaction(async (tx) => {
    const deleted = await tx.rows(sql`
      insert into svc.session_edits as e (session_id, deleted_at)
      select session_id, now() from svc.sessions where session_id = ${session_id}::uuid and not is_empty
      on conflict (session_id) do update set deleted_at = excluded.deleted_at, edited_at = excluded.edited_at
       where e.deleted_at is null
      returning session_id`);
    if (deleted.length > 0) await recordChange(tx, [session_id]);
    return deleted.length > 0;
  });
