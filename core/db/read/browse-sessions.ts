/** The sessions that match a filter, in the requested order. A page is read from the index of its order; deleted sessions are left out. */
import { type SQL, sql } from 'drizzle-orm';
import type { Direction, SessionFilter, SessionSort } from '../../model/browse.ts';
import type { SessionRecord } from '../../model/session.ts';
import { type SessionRow, sessionSelect, toSession } from '../columns/session.ts';
import { instant } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { notDeleted } from './not-deleted.ts';
import { matching, rollupsFor } from './session-filter.ts';

/** The key of a session in an order: `place` is its sort value as text, never rounded. */
export type BrowseKey = { place: string; id: string };

export type Browse = {
  filter: SessionFilter;
  sort: SessionSort;
  direction: Direction;
  after: BrowseKey | null;
  limit: number;
};

/** One page. `next` is the key of its last session, null on the last page. */
export async function browseSessions(
  db: Sql,
  { filter, sort, direction, after, limit }: Browse,
): Promise<{ sessions: SessionRecord[]; next: BrowseKey | null }> {
  const { from, id, place, written, read } = orderOf(sort, direction);
  const directionSql = sql.raw(direction);
  const afterPlace = after
    ? sql` and (${place}, ${id}) ${sql.raw(direction === 'desc' ? '<' : '>')} (${read(after.place)}, ${after.id}::uuid)`
    : sql``;
  const rows = await db.rows<SessionRow & { place: string }>(sql`
    select ${sessionSelect}, s.place_written as place
      from (select s.*, ${place} as place, ${written} as place_written
              from ${from}${rollupsFor(filter)}
             where not s.is_empty and ${notDeleted(sql`s.session_id`)}${matching(filter)}${afterPlace}
             order by ${place} ${directionSql}, ${id} ${directionSql}
             limit ${limit + 1}) s
      left join svc.session_rollups r on r.session_id = s.session_id
      left join svc.session_edits e on e.session_id = s.session_id
     order by s.place ${directionSql}, s.session_id ${directionSql}`);
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    sessions: shown.map(toSession),
    next: rows.length > limit && last ? { place: last.place, id: last.id } : null,
  };
}

/** `place` and `id` are spelled as in the index; `written` and `read` convert a sort value to and from a cursor's text. */
type Order = { from: SQL; id: SQL; place: SQL; written: SQL; read: (place: string) => SQL };

const sessions = { from: sql`svc.sessions s`, id: sql`s.session_id` };
const totals = {
  from: sql`svc.session_totals n join svc.sessions s on s.session_id = n.session_id`,
  id: sql`n.session_id`,
};

function orderOf(sort: SessionSort, direction: Direction): Order {
  switch (sort) {
    case 'last_active':
      return { ...sessions, ...time(sql`s.last_seen_at`) };
    case 'started_at':
      return { ...sessions, ...time(sql`s.started_at`) };
    case 'duration':
      return {
        ...sessions,
        place: sql`(s.last_seen_at - s.started_at)`,
        written: sql`(extract(epoch from s.last_seen_at - s.started_at) * 1000000)::bigint::text`,
        read: (microseconds) => sql`${`${microseconds} microseconds`}::interval`,
      };
    case 'turn_count':
      return { ...totals, ...number(sql`n.turn_count`), read: (count) => sql`${count}::integer` };
    case 'total_tokens':
      return { ...totals, ...number(sql`n.total_tokens`) };
    case 'total_cost': {
      const unknown = sql.raw(direction === 'desc' ? `'-Infinity'` : `'Infinity'`); // last in either direction
      return { ...totals, ...number(sql`coalesce(n.total_cost, ${unknown}::numeric)`) };
    }
  }
}

const time = (column: SQL) => ({
  place: column,
  written: instant(column),
  read: (at: string) => sql`${at}::timestamptz`,
});
const number = (column: SQL) => ({
  place: column,
  written: sql`(${column})::text`,
  read: (exact: string) => sql`${exact}::numeric`,
});
