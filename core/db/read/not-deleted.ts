/** The condition that a row's session is not deleted. */
import { type SQL, sql } from 'drizzle-orm';

export const notDeleted = (session: SQL): SQL => sql`
  not exists (select from svc.session_edits d where d.session_id = ${session} and d.deleted_at is not null)`;
