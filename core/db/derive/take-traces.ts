/** Takes traces from the sessions that had them before: a correction moves calls, and a trace is in one session. */
import { sql } from 'drizzle-orm';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { voidOutlines } from './revisions.ts';

type TraceKey = { trace_id: string; session_id: string };

/** Those of the traces that another session has: it is their former one, since their opening call has moved. */
export async function formerTraces(tx: Sql, traces: readonly TraceKey[]): Promise<TraceKey[]> {
  if (traces.length === 0) return [];
  return tx.rows<TraceKey>(sql`
    with taken as materialized (
      select *
        from unnest(${pgArray(traces.map(({ trace_id }) => trace_id))}::uuid[],
                    ${pgArray(traces.map(({ session_id }) => session_id))}::uuid[]) as k (trace_id, session_id))
    select t.trace_id, t.session_id
      from taken k join svc.traces t on t.trace_id = k.trace_id and t.session_id <> k.session_id
     union
    select s.trace_id, s.session_id
      from taken k join svc.spans s on s.trace_id = k.trace_id and s.session_id <> k.session_id`);
}

/** Deletes the rows of these traces from the sessions that had them. */
export async function takeTraces(tx: Sql, former: readonly TraceKey[]): Promise<void> {
  if (former.length === 0) return;
  const rows = sql`
    unnest(${pgArray(former.map(({ trace_id }) => trace_id))}::uuid[],
           ${pgArray(former.map(({ session_id }) => session_id))}::uuid[]) as f (trace_id, session_id)`;
  await tx.rows(sql`
    delete from svc.span_links l using ${rows}
     where l.session_id = f.session_id and f.trace_id in (l.from_trace_id, l.to_trace_id)`);
  await tx.rows(sql`
    delete from svc.spans s using ${rows} where s.trace_id = f.trace_id and s.session_id = f.session_id`);
  await tx.rows(sql`
    delete from svc.traces t using ${rows} where t.trace_id = f.trace_id and t.session_id = f.session_id`);
  await voidOutlines(tx, pgArray(former.map(({ session_id }) => session_id)));
}
