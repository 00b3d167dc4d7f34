/** A window of a trace: some of its spans in the order of the walk. */
import { sql } from 'drizzle-orm';
import type { Payload } from '../../model/page.ts';
import type { Span } from '../../model/span.ts';
import { type SpanColumns, spanSelect } from '../columns/span.ts';
import type { Sql } from '../sql.ts';
import { notDeleted } from './not-deleted.ts';
import { readTrace } from './read-trace.ts';
import { PAGE_BYTES } from './session-traces.ts';
import { shownSpan } from './span-preview.ts';

/** `next_seq`: where the next window begins; null: the trace has ended. */
export type SpanWindowPage = { spans: Span[]; next_seq: number | null };

type WindowRequest = { trace_id: string; from_seq: number; limit: number; payload: Payload };

/** As many spans as the limit and `PAGE_BYTES` allow. Null when there is no such trace, or its session is deleted. */
export async function spanWindow(
  db: Sql,
  { trace_id, from_seq, limit, payload }: WindowRequest,
): Promise<SpanWindowPage | null> {
  const rows = await db.rows<SpanColumns & { fetched: number }>(sql`
    with found as materialized (
      select p.*
        from svc.spans p
       where p.trace_id = ${trace_id}::uuid and p.seq >= ${from_seq}
       order by p.seq, p.span_id
       limit ${limit + 1})
    select ${spanSelect}, p.fetched
      from (select q.*, count(*) over () as fetched,
                   sum(q.payload_bytes) over (order by q.seq, q.span_id) - q.payload_bytes as bytes_before
              from found q
             where ${notDeleted(sql`q.session_id`)}) p
     where p.bytes_before < ${PAGE_BYTES}
     order by p.seq, p.span_id`);
  if (rows.length === 0 && (await readTrace(db, { trace_id })) === null) return null;
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    spans: shown.map((row) => shownSpan(row, payload)),
    next_seq: last && shown.length < last.fetched ? last.seq + 1 : null,
  };
}

/** The place of a span in its trace. Null when there is no such span, or its session is deleted. */
export async function placeOfSpan(
  db: Sql,
  { trace_id, span_id }: { trace_id: string; span_id: string },
): Promise<{ seq: number } | null> {
  const [row] = await db.rows<{ seq: number }>(sql`
    with found as materialized (
      select p.seq, p.session_id from svc.spans p where p.trace_id = ${trace_id}::uuid and p.span_id = ${span_id}::uuid)
    select p.seq from found p where ${notDeleted(sql`p.session_id`)}`);
  return row ?? null;
}
