/** The order of an outline, and where a page of it begins that has a span in its middle. */
import { sql } from 'drizzle-orm';
import { instant } from '../literals.ts';
import type { Sql } from '../sql.ts';
import type { TraceKey } from './trace-page.ts';

/** Which traces come first. */
export type OutlineOrder = 'newest' | 'oldest';

/** The key of a span in the order of an outline: by trace, in each the order of the walk. */
export type OutlineKey = TraceKey & { seq: number; span_id: string };

type Request = { session_id: string; span_id: string; order: OutlineOrder; before: number };

const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/**
 * The key after which such a page begins: at most `before` spans come ahead of the span, whole traces where they fit. Of a span that two
 * traces have, the earlier one counts. Null when the session has no such span.
 */
export async function keyAround(tx: Sql, { session_id, span_id, order, before }: Request): Promise<OutlineKey | null> {
  const isNewest = order === 'newest';
  const [ahead, nearest, first] = isNewest ? [sql`>`, sql`asc`, sql`desc`] : [sql`<`, sql`desc`, sql`asc`];
  const [key] = await tx.rows<Pick<OutlineKey, 'started_at' | 'trace_id' | 'seq'>>(sql`
    with span as (
      select t.started_at, t.trace_id, p.seq
        from svc.spans p
        join svc.traces t on t.trace_id = p.trace_id and t.session_id = p.session_id
       where p.span_id = ${span_id}::uuid and p.session_id = ${session_id}::uuid
       order by t.started_at, t.trace_id
       limit 1
    ), earlier as (
      select t.started_at, t.trace_id, sum(t.span_count) over (order by t.started_at ${nearest}, t.trace_id ${nearest}) as spans
        from (select t.started_at, t.trace_id, t.span_count
                from svc.traces t, span
               where t.session_id = ${session_id}::uuid and (t.started_at, t.trace_id) ${ahead} (span.started_at, span.trace_id)
               order by t.started_at ${nearest}, t.trace_id ${nearest}
               limit ${before}) t
    )
    select ${instant(sql`k.started_at`)} as started_at, k.trace_id, k.seq
      from (select e.started_at, e.trace_id, -1 as seq
              from earlier e, span
             where e.spans + span.seq <= ${before}
             union all
            select span.started_at, span.trace_id, greatest(span.seq - ${before}::integer, 0) - 1 from span) k
     order by k.started_at ${first}, k.trace_id ${first}
     limit 1`);
  return key ? { ...key, span_id: LAST_ID } : null;
}
