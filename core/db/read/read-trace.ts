/** Reads one trace. Null when there is none, or its session is deleted. */
import { sql } from 'drizzle-orm';
import type { Trace } from '../../model/trace.ts';
import { type TraceColumns, toTrace, traceSelect } from '../columns/trace.ts';
import type { Sql } from '../sql.ts';
import { notDeleted } from './not-deleted.ts';

export async function readTrace(db: Sql, { trace_id }: { trace_id: string }): Promise<Trace | null> {
  const [row] = await db.rows<TraceColumns>(sql`
    with found as materialized (select t.* from svc.traces t where t.trace_id = ${trace_id}::uuid)
    select ${traceSelect} from found t where ${notDeleted(sql`t.session_id`)}`);
  return row ? toTrace(row) : null;
}
