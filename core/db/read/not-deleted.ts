/**
 * The condition that a row's session is not deleted. A distributed table cannot be joined by it: what is read of one by a key is read first,
 * and the condition is put to that.
 */
import { type SQL, sql } from 'drizzle-orm';

export const notDeleted = (session: SQL): SQL => sql`
  not exists (select 1 from svc.session_edits d where d.session_id = ${session} and d.deleted_at is not null)`;
