/** Renames a session. The name is stored beside the projection, so that deriving it again does not lose it. */
import { sql } from 'drizzle-orm';
import { recordChange } from '../record-change.ts';
import type { Sql } from '../sql.ts';

/** @param display_name null removes it @returns false, and nothing is changed, when there is no such session or it is deleted */
export const renameSession = (
  db: Sql,
  { session_id, display_name }: { session_id: string; display_name: string | null },
): Promise<boolean> =>
  db.transaction(async (tx) => {
    const renamed = await tx.rows(sql`
      insert into svc.session_edits as e (session_id, display_name)
      select session_id, ${display_name}::text from svc.sessions where session_id = ${session_id}::uuid and not is_empty
      on conflict (session_id) do update set display_name = excluded.display_name, edited_at = now()
       where e.deleted_at is null
      returning session_id`);
    if (renamed.length > 0) await recordChange(tx, [session_id]);
    return renamed.length > 0;
  });
