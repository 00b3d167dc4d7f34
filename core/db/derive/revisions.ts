/** The revisions of a session's projection, by which readers of its outline learn what changed since they read it. */
import { sql } from 'drizzle-orm';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

/**
 * The revisions of the commit under way, by session. Their rows stay locked until its end, so that revisions are committed in their
 * order: who reads one has all before it.
 */
export async function nextRevisions(tx: Sql, session_ids: readonly string[]): Promise<Map<string, number>> {
  const rows = await tx.rows<{ session_id: string; rev: number }>(sql`
    insert into svc.session_revisions as v (session_id, rev, floor)
    select session_id, 2, 1 from unnest(${pgArray(session_ids)}::uuid[]) as n (session_id) order by session_id
    on conflict (session_id) do update set rev = v.rev + 1
    returning session_id, rev`);
  return new Map(rows.map(({ session_id, rev }) => [session_id, rev]));
}

/** Rows of these sessions were deleted: what their readers have is void. In one order, so that two of these cannot deadlock. */
export async function voidOutlines(tx: Sql, session_ids: string): Promise<void> {
  await tx.rows(sql`
    insert into svc.session_revisions as v (session_id, rev, floor)
    select distinct session_id, 2, 2 from unnest(${session_ids}::uuid[]) as n (session_id) order by session_id
    on conflict (session_id) do update set rev = v.rev + 1, floor = v.rev + 1`);
}

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

/** The commit of this revision has deleted rows. */
export const voidBefore = (tx: Sql, { session_id, rev }: { session_id: string; rev: number }) =>
  tx.rows(sql`update svc.session_revisions set floor = ${rev} where session_id = ${session_id}::uuid`);
