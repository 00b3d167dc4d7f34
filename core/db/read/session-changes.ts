/** What changed since a reader last heard? Sessions as they read now, each with the place from which to ask on. */
import { type SQL, sql } from 'drizzle-orm';
import type { SessionRecord } from '../../model/session.ts';
import type { Sql } from '../sql.ts';
import { type SessionRow, sessionColumns, sessionRecord } from './session-record.ts';

/**
 * How far a reader has been told: every change that the snapshot `seen` sees (PostgreSQL's text form of `pg_snapshot`), and within
 * a `round` towards a newer snapshot, whose pages come in the order of (changed_by, session_id), all up to that key.
 */
export type ChangePosition = {
  seen: string;
  round: { towards: string; changed_by: string; session_id: string } | null;
};

/** `session` null: deleted. `place`: where to go on once this one is told. */
export type SessionChange = { session_id: string; session: SessionRecord | null; place: ChangePosition };

/** A place before every change. */
export const EVERYTHING: ChangePosition = { seen: '3:3:', round: null }; // PostgreSQL's first transaction is the third

/**
 * One page of a round. `place` is where to go on after it, `more` whether the round has further pages. A session that changes during
 * a round leaves it and is told in the next, so none is lost, and none told twice as the same.
 */
export async function sessionChanges(
  db: Sql,
  { place: { seen, round }, limit }: { place: ChangePosition; limit: number },
): Promise<{ changes: SessionChange[]; place: ChangePosition; more: boolean }> {
  const before = sql`${seen}::pg_snapshot`;
  const towards: SQL = round ? sql`${round.towards}::pg_snapshot` : sql`pg_current_snapshot()`;
  const onward = round
    ? sql`and (c.changed_by, c.session_id) > (${round.changed_by}::xid8, ${round.session_id}::uuid)`
    : sql``;
  // one statement has one snapshot, so the row that tells it sees no more and no less than the page
  const rows = await db.rows<SessionRow & { snapshot: string; changed_by: string | null; changed_id: string }>(sql`
    select ${towards}::text as snapshot, p.changed_by::text as changed_by, p.session_id as changed_id, ${sessionColumns}
      from (select 1) as one
      left join (select c.changed_by, c.session_id
                   from svc.session_changes c
                  where c.changed_by >= pg_snapshot_xmin(${before}) and not pg_visible_in_snapshot(c.changed_by, ${before})
                    and pg_visible_in_snapshot(c.changed_by, ${towards}) ${onward}
                  order by c.changed_by, c.session_id
                  limit ${limit + 1}) p on true
      left join svc.sessions s
        on s.session_id = p.session_id and not s.is_empty
           and not exists (select from svc.session_edits d where d.session_id = s.session_id and d.deleted_at is not null)
      left join svc.session_rollups r on r.session_id = s.session_id
      left join svc.session_edits e on e.session_id = s.session_id
     order by p.changed_by, p.session_id`);
  const reached = rows[0]?.snapshot ?? seen;
  const found = rows.filter(isChange);
  const more = found.length > limit;
  const end: ChangePosition = { seen: reached, round: null };
  const changes = found.slice(0, limit).map((row, i): SessionChange => {
    const { changed_by, changed_id: session_id } = row;
    const isLast = !more && i === found.length - 1;
    return {
      session_id,
      session: row.id === null ? null : sessionRecord(row),
      place: isLast ? end : { seen, round: { towards: reached, changed_by, session_id } },
    };
  });
  return { changes, place: changes.at(-1)?.place ?? end, more };
}

const isChange = <Row extends { changed_by: string | null }>(row: Row): row is Row & { changed_by: string } =>
  row.changed_by !== null;

/** Whether anything changed that the snapshot `seen` does not see, and the snapshot to ask with next. One look at an index. */
export async function changedSince(db: Sql, { seen }: { seen: string }): Promise<{ seen: string; changed: boolean }> {
  const before = sql`${seen}::pg_snapshot`;
  const [row] = await db.rows<{ seen: string; changed: boolean }>(sql`
    select pg_current_snapshot()::text as seen,
           exists (select from svc.session_changes c
                    where c.changed_by >= pg_snapshot_xmin(${before})
                      and not pg_visible_in_snapshot(c.changed_by, ${before})) as changed`);
  return row ?? { seen, changed: true };
}

/**
 * The place after every change of now. `life` names this very table: a database that was moved counts its transactions anew, so
 * places of its former life mean nothing. What such a life noted under transactions that are yet to come is noted again.
 */
export async function changesNow(db: Sql, _args: Record<string, never>): Promise<{ life: string; seen: string }> {
  await db.rows(sql`
    update svc.session_changes set changed_by = pg_current_xact_id()
     where changed_by >= pg_snapshot_xmax(pg_current_snapshot())`);
  const [row] = await db.rows<{ life: string; seen: string }>(sql`
    select pg_current_snapshot()::text as seen, concat(d.oid, '.', to_regclass('svc.session_changes')::oid) as life
      from pg_database d
     where d.datname = current_database()`);
  if (!row) throw new Error('Cannot tell the changes: the database does not know itself');
  return row;
}
