/** A trace at one moment: its totals with the first page of its spans and of its links, from one snapshot. */
import type { Payload } from '../../model/page.ts';
import type { Trace } from '../../model/trace.ts';
import type { Sql } from '../sql.ts';
import { atOneMoment } from './at-one-moment.ts';
import { readTrace } from './read-trace.ts';
import { linksOf, spansOf } from './session-traces.ts';

/** `firstSpans`: see session-start.ts. */
type StartRequest = { trace_id: string; payload: Payload; limits: Record<'spans' | 'firstSpans' | 'links', number> };

type TraceStart = {
  trace: Trace;
  spans: Awaited<ReturnType<typeof spansOf>>;
  links: Awaited<ReturnType<typeof linksOf>> | null; // null: the spans have further pages, which come first
};

/** Null when there is no such trace, or its session is deleted. Later pages are queried one by one (see session-start.ts). */
export const traceStart = (db: Sql, { trace_id, payload, limits }: StartRequest): Promise<TraceStart | null> =>
  atOneMoment(db, async (tx) => {
    const trace = await readTrace(tx, { trace_id });
    if (!trace) return null;
    const of = { trace_id };
    const limit = trace.span_count <= limits.spans ? limits.spans : limits.firstSpans;
    const spans = await spansOf(tx, { of, after: null, limit, payload });
    const isWhole = spans.next === null;
    return { trace, spans, links: isWhole ? await linksOf(tx, { of, after: null, limit: limits.links }) : null };
  });
