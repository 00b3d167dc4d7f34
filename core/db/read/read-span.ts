/** Reads one span. Null when the trace has none with this id, or its session is deleted. */
import { sql } from 'drizzle-orm';
import type { Span } from '../../model/span.ts';
import { type SpanColumns, spanSelect } from '../columns/span.ts';
import type { Sql } from '../sql.ts';
import { notDeleted } from './not-deleted.ts';
import { shownSpan } from './span-preview.ts';

export async function readSpan(
  db: Sql,
  { trace_id, span_id }: { trace_id: string; span_id: string },
): Promise<Span | null> {
  const [row] = await db.rows<SpanColumns>(sql`
    with found as materialized (
      select p.* from svc.spans p where p.trace_id = ${trace_id}::uuid and p.span_id = ${span_id}::uuid)
    select ${spanSelect} from found p where ${notDeleted(sql`p.session_id`)}`);
  return row ? shownSpan(row, 'full') : null;
}
