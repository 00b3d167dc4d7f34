/** Renames or stars a session. Both are stored beside the projection, so that deriving it again loses neither. */
import { sql } from 'drizzle-orm';
import { recordChange } from '../record-change.ts';
import type { Sql } from '../sql.ts';

/** What is absent stays as it is. `display_name` null removes it. */
export type SessionEdits = { display_name?: string | null; starred?: boolean };

/** @returns false, and nothing is changed, when there is no such session or it is deleted */
export const editSession = (
  db: Sql,
  { session_id, edits: { display_name, starred } }: { session_id: string; edits: SessionEdits },
): Promise<boolean> =>
  db.transaction(async (tx) => {
    const edited = await tx.rows(sql`
      insert into svc.session_edits as e (session_id, display_name, starred_at)
      select session_id, ${display_name ?? null}::text, case when ${starred ?? false}::boolean then now() end
        from svc.sessions where session_id = ${session_id}::uuid and not is_empty
      on conflict (session_id) do update
         set display_name = case when ${display_name !== undefined}::boolean then excluded.display_name else e.display_name end,
             starred_at = case when ${starred === undefined}::boolean then e.starred_at
                               when excluded.starred_at is not null then coalesce(e.starred_at, excluded.starred_at) end,
             edited_at = excluded.edited_at
       where e.deleted_at is null
      returning session_id`);
    if (edited.length > 0) await recordChange(tx, [session_id]);
    return edited.length > 0;
  });
