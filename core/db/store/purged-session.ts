/** Which sessions people purged. One that retention removed is shown again with what comes. */
import { sql } from 'drizzle-orm';

/** Of a session `s` with its edits `e`. */
export const isPurged = sql`(
  s.purged_turns > 0 and e.deleted_at is not null
  and not exists (select from svc.session_removals r where r.session_id = s.session_id and not r.was_hidden))`;
