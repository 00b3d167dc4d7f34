/** The sessions that retention removes next: those that have turns, were last seen before a limit, and that nobody starred. */
import { type SQL, sql } from 'drizzle-orm';
import { instant, pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

/** Limits as instants, by project. `before` null: only projects of their own. `never`: projects whose sessions always stay. */
export type DueBefore = {
  before: string | null;
  projects: { project: string; before: string }[];
  never: string[];
  /** Partitions whose sessions wait until the whole is due, but for those of a project with a limit of its own. */
  waiting?: number[];
};

/** `turns`: how many of it are left. `own_limit`: it is due by the limit of its project. */
export type DueSession = { session_id: string; last_seen_at: string; turns: number; own_limit: boolean };

/**
 * The oldest first. A sub-agent's session stays with a starred one that it belongs to.
 * @param except sessions that could not be removed a moment ago
 */
export const dueSessions = (
  db: Sql,
  { except = [], limit, ...due }: DueBefore & { except?: string[]; limit: number },
): Promise<DueSession[]> =>
  db.rows<DueSession>(sql`
    select ${DUE} ${fromDue(due)}
       and s.session_id <> all(${pgArray(except)}::uuid[])
     order by s.last_seen_at, s.session_id
     limit ${limit}`);

/** The columns of a `DueSession`. */
export const DUE = sql`
  s.session_id, ${instant(sql`s.last_seen_at`)} as last_seen_at, s.turn_count + s.moved_turns - s.purged_turns as turns,
  o.project is not null as own_limit`;

/** How much is due, counted up to a limit: `more` where that was reached. */
export async function countDue(
  db: Sql,
  { limit, ...due }: DueBefore & { limit: number },
): Promise<{ sessions: number; turns: number; more: boolean }> {
  const [row] = await db.rows<{ sessions: number; turns: number }>(sql`
    select count(*) as sessions, coalesce(sum(d.turns), 0)::bigint as turns
      from (select s.turn_count + s.moved_turns - s.purged_turns as turns ${fromDue(due)}
             order by s.last_seen_at, s.session_id limit ${limit}) d`);
  return { sessions: row?.sessions ?? 0, turns: row?.turns ?? 0, more: row?.sessions === limit };
}

/** The rest of a query of those sessions `s`, their rollups `r`, and the limits `o` of their projects. */
export function fromDue({ before, projects, never, waiting = [] }: DueBefore): SQL {
  const latest = [before, ...projects.map((one) => one.before)].reduce(
    (a, b) => (a === null || (b !== null && b > a) ? b : a),
    null,
  );
  return sql`
      from svc.sessions s
      left join svc.session_rollups r on r.session_id = s.session_id
     cross join lateral (select coalesce(r.project, ${undeclared}, '') as name) p
      left join unnest(${pgArray(projects.map(({ project }) => project))}::text[],
                       ${pgArray(projects.map((one) => one.before))}::timestamptz[]) as o (project, before) on o.project = p.name
     where s.turn_count + s.moved_turns > s.purged_turns
       and s.last_seen_at < ${latest}::timestamptz
       and s.last_seen_at < coalesce(o.before, ${before}::timestamptz)
       and p.name <> all(${pgArray(never)}::text[])
       and (o.project is not null or s.partition_no <> all(${pgArray(waiting)}::smallint[]))
       and not exists (select 1 from svc.session_edits e where e.session_id = s.session_id and e.starred_at is not null)
       and (not ${isSubAgent} or not ${belongsToStarred})`;
}

/** As far as it is derived, else as its turns name their parent. */
const isSubAgent = sql`
  (r.parent_session_id is not null or (r.session_id is null and s.parent_harness_session_id is not null))`;

/** Sub-agents have such of their own; `union` ends where a chain leads back to itself. */
const belongsToStarred = sql`
  exists (
    with recursive above (session_id) as (
      select s.session_id
       union
      select coalesce(b.parent_session_id, p.session_id)
        from above a
        join svc.sessions c on c.session_id = a.session_id
        left join svc.session_rollups b on b.session_id = a.session_id
        left join svc.sessions p
               on b.session_id is null and p.harness_id = c.harness_id and p.harness_session_id = c.parent_harness_session_id
       where coalesce(b.parent_session_id, p.session_id) is not null
    )
    select 1 from above a join svc.session_edits e on e.session_id = a.session_id where e.starred_at is not null)`;

/** The project of a session that was not derived yet: as derivation will have it, its last call that names one. */
const undeclared = sql`
  (select t.identity ->> 'project' from svc.raw_turns t
    where r.session_id is null and t.session_id = s.session_id and t.identity ->> 'project' <> ''
    order by t.requested_at desc, t.session_seq desc limit 1)`;
