/** The list of traces, of one session or of all: the newest come first. */
import { sql } from 'drizzle-orm';
import type { Trace } from '../../model/trace.ts';
import { type TraceColumns, traceSelect } from '../columns/trace.ts';
import type { Sql } from '../sql.ts';
import { notAmongDeleted } from './not-deleted.ts';
import { type TraceKey, tracePage } from './trace-page.ts';

export async function listTraces(
  db: Sql,
  { session_id, after, limit }: { session_id: string | null; after: TraceKey | null; limit: number },
): Promise<{ traces: Trace[]; next: TraceKey | null }> {
  const ofSession = session_id === null ? sql`` : sql`and t.session_id = ${session_id}::uuid`;
  const before = after
    ? sql`and (t.started_at, t.trace_id) < (${after.started_at}::timestamptz, ${after.trace_id}::uuid)`
    : sql``;
  const rows = await db.rows<TraceColumns>(sql`
    select ${traceSelect}
      from svc.traces t
     where ${notAmongDeleted(sql`t.session_id`)} ${ofSession} ${before}
     order by t.started_at desc, t.trace_id desc
     limit ${limit + 1}`);
  return tracePage(rows, limit);
}
