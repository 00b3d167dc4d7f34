/** The list of traces, of one session or of all: the newest come first. */
import { type SQL, sql } from 'drizzle-orm';
import type { Trace } from '../../model/trace.ts';
import { type TraceColumns, traceSelect } from '../columns/trace.ts';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { notDeleted } from './not-deleted.ts';
import { type TraceKey, tracePage } from './trace-page.ts';

type Page = { traces: Trace[]; next: TraceKey | null };

export const listTraces = (
  db: Sql,
  { session_id, after, limit }: { session_id: string | null; after: TraceKey | null; limit: number },
): Promise<Page> =>
  session_id === null ? tracesOfAll(db, { after, limit }) : tracesOfSession(db, { session_id, after, limit });

async function tracesOfSession(
  db: Sql,
  { session_id, after, limit }: { session_id: string; after: TraceKey | null; limit: number },
): Promise<Page> {
  const rows = await db.rows<TraceColumns>(sql`
    select ${traceSelect}
      from svc.all_traces t
     where t.session_id = ${session_id}::uuid and ${notDeleted(sql`t.session_id`)}${before(after)}
     order by t.started_at desc, t.trace_id desc
     limit ${limit + 1}`);
  return tracePage(rows, limit);
}

/**
 * Traces of deleted sessions are left out after a page was read, and others read in their place: of a distributed table each worker gives
 * its newest ones, for which the statement may hold no join to a table of another server.
 */
async function tracesOfAll(db: Sql, { after, limit }: { after: TraceKey | null; limit: number }): Promise<Page> {
  const shown: TraceColumns[] = [];
  for (let from = after; ; ) {
    const rows = await db.rows<TraceColumns>(sql`
      select ${traceSelect}
        from svc.traces t
       where true${before(from)}
       order by t.started_at desc, t.trace_id desc
       limit ${limit + 1}`);
    const deleted = await deletedAmong(db, new Set(rows.map((trace) => trace.session_id)));
    shown.push(...rows.filter((trace) => !deleted.has(trace.session_id)));
    const last = rows.at(-1);
    if (shown.length > limit || !last || rows.length <= limit) return tracePage(shown.slice(0, limit + 1), limit);
    from = last;
  }
}

const before = (key: TraceKey | null): SQL =>
  key ? sql` and (t.started_at, t.trace_id) < (${key.started_at}::timestamptz, ${key.trace_id}::uuid)` : sql``;

async function deletedAmong(db: Sql, session_ids: ReadonlySet<string>): Promise<Set<string>> {
  if (session_ids.size === 0) return new Set();
  const rows = await db.rows<{ session_id: string }>(sql`
    select d.session_id from svc.session_edits d
     where d.session_id = any(${pgArray([...session_ids])}::uuid[]) and d.deleted_at is not null`);
  return new Set(rows.map(({ session_id }) => session_id));
}
