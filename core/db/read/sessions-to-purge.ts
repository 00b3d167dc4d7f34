/** The sessions of a project or a time that still have raw turns, deleted ones too. */
import { sql } from 'drizzle-orm';
import { storable } from '../../derive/storable.ts';
import type { TitleParts } from '../../model/session.ts';
import { instant } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { titleParts, withTitle } from './session-title.ts';

export type SessionToPurge = {
  session_id: string;
  title: string | null;
  project: string;
  started_at: string;
  last_seen_at: string;
  raw_turns: number;
  deleted: boolean;
};

/** `before`: the session has ended by then; `since`: it had not begun before. In the order of ids, after `after`. */
export const sessionsToPurge = async (
  db: Sql,
  {
    session_id,
    project,
    before,
    since,
    after,
    limit,
  }: {
    session_id: string | null;
    project: string | null;
    before: string | null;
    since: string | null;
    after: string | null;
    limit: number;
  },
): Promise<SessionToPurge[]> =>
  (
    await db.rows<Omit<SessionToPurge, 'title'> & { title_parts: TitleParts }>(sql`
    select s.session_id, ${titleParts}, coalesce(r.project, '') as project,
           ${instant(sql`s.started_at`)} as started_at, ${instant(sql`s.last_seen_at`)} as last_seen_at, n.raw_turns,
           e.deleted_at is not null as deleted
      from svc.sessions s
      left join svc.session_rollups r on r.session_id = s.session_id
      left join svc.session_edits e on e.session_id = s.session_id
     cross join lateral (
       select count(*) as raw_turns
         from (select o.raw_turn_id from svc.raw_turns o where o.session_id = s.session_id
               union
               select k.raw_turn_id from svc.raw_turn_corrections k where k.session_id = s.session_id) c
         join svc.effective_turns t on t.raw_turn_id = c.raw_turn_id and t.session_id = s.session_id) n
     where n.raw_turns > 0
       and (${session_id}::uuid is null or s.session_id = ${session_id}::uuid)
       and (${after}::uuid is null or s.session_id > ${after}::uuid)
       and (${project === null} or ${project === null || storable(project) === project} and r.project = ${storable(project ?? '')})
       and (${before}::timestamptz is null or s.last_seen_at < ${before}::timestamptz)
       and (${since}::timestamptz is null or s.started_at >= ${since}::timestamptz)
     order by s.session_id
     limit ${limit}`)
  ).map(withTitle);
