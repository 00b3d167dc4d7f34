/** Reads one session. Null when there is none, or it is deleted. */
import { sql } from 'drizzle-orm';
import type { SessionRecord } from '../../model/session.ts';
import { type SessionRow, sessionSelect, toSession } from '../columns/session.ts';
import type { Sql } from '../sql.ts';

export async function readSession(db: Sql, { session_id }: { session_id: string }): Promise<SessionRecord | null> {
  const [row] = await db.rows<SessionRow>(sql`
    select ${sessionSelect}
      from svc.sessions s
      left join svc.session_rollups r on r.session_id = s.session_id
      left join svc.session_edits e on e.session_id = s.session_id
     where s.session_id = ${session_id}::uuid and e.deleted_at is null and not s.is_empty`);
  return row ? toSession(row) : null;
}
