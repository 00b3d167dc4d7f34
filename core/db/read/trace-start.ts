/** What is a trace at one moment? Its totals with the first page of its spans and of its links, as one snapshot has them. */
import type { Payload } from '../../model/page.ts';
import type { Trace } from '../../model/trace.ts';
import type { Sql } from '../sql.ts';
import { readTrace } from './read-trace.ts';
import { linksOf, spansOf } from './session-traces.ts';

type Wanted = { trace_id: string; payload: Payload; limits: Record<'spans' | 'links', number> };

type TraceStart = {
  trace: Trace;
  spans: Awaited<ReturnType<typeof spansOf>>;
  links: Awaited<ReturnType<typeof linksOf>> | null; // null: later pages of the spans come first
};

/** Null when there is no such trace, or somebody deleted its session. Later pages are asked for one by one. (session-start.ts) */
export const traceStart = (db: Sql, { trace_id, payload, limits }: Wanted): Promise<TraceStart | null> =>
  db.transaction(async (tx) => {
    await tx.script('set transaction isolation level repeatable read, read only');
    const trace = await readTrace(tx, { trace_id });
    if (!trace) return null;
    const of = { trace_id };
    const spans = await spansOf(tx, { of, after: null, limit: limits.spans, payload });
    const isWhole = spans.next === null;
    return { trace, spans, links: isWhole ? await linksOf(tx, { of, after: null, limit: limits.links }) : null };
  });
