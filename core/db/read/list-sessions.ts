/** The list of sessions: those seen last come first; deleted ones are left out. */
import { sql } from 'drizzle-orm';
import type { SessionRecord } from '../../model/session.ts';
import { type SessionRow, sessionSelect, toSession } from '../columns/session.ts';
import type { Sql } from '../sql.ts';

export type SessionCursor = { last_seen_at: string; id: string };

/** One page. `next` is the key of its last session, null on the last page. */
export async function listSessions(
  db: Sql,
  { after, limit }: { after: SessionCursor | null; limit: number },
): Promise<{ sessions: SessionRecord[]; next: SessionCursor | null }> {
  const before = after
    ? sql`and (s.last_seen_at, s.session_id) < (${after.last_seen_at}::timestamptz, ${after.id}::uuid)`
    : sql``;
  // The page is read from the index first: rollups are joined to its rows alone.
  const rows = await db.rows<SessionRow>(sql`
    select ${sessionSelect}
      from (select s.*
              from svc.sessions s
             where not s.is_empty
               and not exists (select 1 from svc.session_edits d
                                where d.session_id = s.session_id and d.deleted_at is not null)
                   ${before}
             order by s.last_seen_at desc, s.session_id desc
             limit ${limit + 1}) s
      left join svc.session_rollups r on r.session_id = s.session_id
      left join svc.session_edits e on e.session_id = s.session_id
     order by s.last_seen_at desc, s.session_id desc`);
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    sessions: shown.map(toSession),
    next: rows.length > limit && last ? { last_seen_at: last.last_seen_at, id: last.id } : null,
  };
}
