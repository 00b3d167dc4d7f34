/** Changes of sessions since a reader's position: the sessions as they read now, each with the position after it. */
import { type SQL, sql } from 'drizzle-orm';
import type { SessionRecord } from '../../model/session.ts';
import { type SessionRow, sessionSelect, toSession } from '../columns/session.ts';
import type { Sql } from '../sql.ts';
import { takesWrites } from '../takes-writes.ts';

/**
 * A reader's position: it has every change that the snapshot `seen` sees (PostgreSQL's text form of `pg_snapshot`). During a `round`
 * towards a newer snapshot, whose pages come in the order of (changed_by, session_id), it also has all changes up to that key.
 */
export type ChangePosition = {
  seen: string;
  round: { towards: string; changed_by: string; session_id: string } | null;
};

/** `session` null: deleted. `place`: the position after this change. */
export type SessionChange = { session_id: string; session: SessionRecord | null; place: ChangePosition };

/**
 * What a statement sees. A standby's own snapshot leaves out which transactions are under way on the primary, so that their changes would
 * count as seen: there it ends before the oldest of them.
 */
const SEEN_NOW = sql`case when pg_is_in_recovery()
  then concat(pg_snapshot_xmin(pg_current_snapshot()), ':', pg_snapshot_xmin(pg_current_snapshot()), ':')::pg_snapshot
  else pg_current_snapshot() end`;

/** The position before every change. */
export const EVERYTHING: ChangePosition = { seen: '3:3:', round: null }; // PostgreSQL's first transaction is the third

/**
 * One page of a round. `place` is the position after it, `more` whether the round has further pages. A session that changes during a
 * round leaves it and comes in the next one, so no change is lost, and none is returned twice unchanged.
 */
export async function sessionChanges(
  db: Sql,
  { place: { seen, round }, limit }: { place: ChangePosition; limit: number },
): Promise<{ changes: SessionChange[]; place: ChangePosition; more: boolean }> {
  const before = sql`${seen}::pg_snapshot`;
  const towards: SQL = round ? sql`${round.towards}::pg_snapshot` : SEEN_NOW;
  const afterKey = round
    ? sql`and (c.changed_by, c.session_id) > (${round.changed_by}::xid8, ${round.session_id}::uuid)`
    : sql``;
  // One statement has one snapshot, so the snapshot that it returns is exactly the one of the page.
  const rows = await db.rows<SessionRow & { snapshot: string; changed_by: string | null; changed_id: string }>(sql`
    select (${towards})::text as snapshot, p.changed_by::text as changed_by, p.session_id as changed_id, ${sessionSelect}
      from (select 1) as one
      left join (select c.changed_by, c.session_id
                   from svc.session_changes c
                  where c.changed_by >= pg_snapshot_xmin(${before}) and not pg_visible_in_snapshot(c.changed_by, ${before})
                    and pg_visible_in_snapshot(c.changed_by, ${towards}) ${afterKey}
                  order by c.changed_by, c.session_id
                  limit ${limit + 1}) p on true
      left join svc.sessions s
        on s.session_id = p.session_id and not s.is_empty
           and not exists (select 1 from svc.session_edits d where d.session_id = s.session_id and d.deleted_at is not null)
      left join svc.session_rollups r on r.session_id = s.session_id
      left join svc.session_edits e on e.session_id = s.session_id
     order by p.changed_by, p.session_id`);
  const pageSnapshot = rows[0]?.snapshot ?? seen;
  const found = rows.filter(isChange);
  const more = found.length > limit;
  const end: ChangePosition = { seen: pageSnapshot, round: null };
  const changes = found.slice(0, limit).map((row, i): SessionChange => {
    const { changed_by, changed_id: session_id } = row;
    const isLast = !more && i === found.length - 1;
    return {
      session_id,
      session: row.id === null ? null : toSession(row),
      place: isLast ? end : { seen, round: { towards: pageSnapshot, changed_by, session_id } },
    };
  });
  return { changes, place: changes.at(-1)?.place ?? end, more };
}

const isChange = <Row extends { changed_by: string | null }>(row: Row): row is Row & { changed_by: string } =>
  row.changed_by !== null;

/** The transaction that changed a session last; null: none has, as before it is derived. */
export async function sessionChangedBy(db: Sql, { session_id }: { session_id: string }): Promise<string | null> {
  const [row] = await db.rows<{ changed_by: string }>(sql`
    select changed_by::text as changed_by from svc.session_changes where session_id = ${session_id}::uuid`);
  return row?.changed_by ?? null;
}

/** Whether anything changed that the snapshot `seen` does not see, and the snapshot for the next call. One index lookup. */
export async function changedSince(db: Sql, { seen }: { seen: string }): Promise<{ seen: string; changed: boolean }> {
  const before = sql`${seen}::pg_snapshot`;
  const [row] = await db.rows<{ seen: string; changed: boolean }>(sql`
    select (${SEEN_NOW})::text as seen,
           exists (select 1 from svc.session_changes c
                    where c.changed_by >= pg_snapshot_xmin(${before})
                      and not pg_visible_in_snapshot(c.changed_by, ${before})) as changed`);
  return row ?? { seen, changed: true };
}

/**
 * The position after every change so far. `life` identifies this very table: a database that was moved counts its transactions anew, so
 * positions of its former life mean nothing. Changes that the former life recorded under future transaction ids are recorded again, but
 * on a standby, which has those of its primary.
 */
export async function changesNow(db: Sql, _args: Record<string, never>): Promise<{ life: string; seen: string }> {
  if (await takesWrites(db))
    await db.rows(sql`
      update svc.session_changes set changed_by = pg_current_xact_id()
       where changed_by >= pg_snapshot_xmax(pg_current_snapshot())`);
  const [row] = await db.rows<{ life: string; seen: string }>(sql`
    select (${SEEN_NOW})::text as seen, concat(d.oid, '.', to_regclass('svc.session_changes')::oid) as life
      from pg_database d
     where d.datname = current_database()`);
  if (!row) throw new Error('Cannot tell the changes: the database does not know itself');
  return row;
}
