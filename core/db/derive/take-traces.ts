/** Takes traces from the sessions that had them before: a correction moves calls, and a trace is in one session. */
import { sql } from 'drizzle-orm';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { voidOutlines } from './revisions.ts';

/** A trace whose opening call has moved to another session is taken from its former session, whose rows of it are deleted. */
export async function takeTraces(tx: Sql, traces: readonly { trace_id: string; session_id: string }[]): Promise<void> {
  if (traces.length === 0) return;
  const taken = sql`
    unnest(${pgArray(traces.map(({ trace_id }) => trace_id))}::uuid[],
           ${pgArray(traces.map(({ session_id }) => session_id))}::uuid[]) as k (trace_id, session_id)`;
  const former = await tx.rows<{ trace_id: string; session_id: string }>(sql`
    with taken as materialized (select * from ${taken})
    select t.trace_id, t.session_id
      from taken k join svc.traces t on t.trace_id = k.trace_id and t.session_id <> k.session_id
     union
    select s.trace_id, s.session_id
      from taken k join svc.spans s on s.trace_id = k.trace_id and s.session_id <> k.session_id`);
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
