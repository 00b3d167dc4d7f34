/** The revisions of a session's projection, by which readers of its outline learn what changed since they read it. */
import { sql } from 'drizzle-orm';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

/**
 * The revision of the commit under way. The row stays locked until its end, so that revisions are committed in their order: who reads
 * one has all before it.
 */
export async function nextRevision(tx: Sql, session_id: string): Promise<number> {
  const [row] = await tx.rows<{ rev: number }>(sql`
    insert into svc.session_revisions as v (session_id, rev, floor) values (${session_id}::uuid, 2, 1)
    on conflict (session_id) do update set rev = v.rev + 1
    returning rev`);
  if (!row) throw new Error('Cannot number a commit: its session has no revision');
  return row.rev;
}

/** Rows of these sessions were deleted: what their readers have is void. In one order, so that two of these cannot deadlock. */
export async function voidOutlines(tx: Sql, session_ids: string): Promise<void> {
  await tx.rows(sql`
    insert into svc.session_revisions as v (session_id, rev, floor)
    select distinct session_id, 2, 2 from unnest(${session_ids}::uuid[]) as n (session_id) order by session_id
    on conflict (session_id) do update set rev = v.rev + 1, floor = v.rev + 1`);
}

/** A trace whose opening call has moved to this session is taken over with its row: its former session loses it. */
export async function voidFormerOutlines(
  tx: Sql,
  { session_id, trace_ids }: { session_id: string; trace_ids: readonly string[] },
): Promise<void> {
  if (trace_ids.length === 0) return;
  const former = await tx.rows<{ session_id: string }>(sql`
    select distinct session_id from svc.traces
     where trace_id = any(${pgArray(trace_ids)}::uuid[]) and session_id <> ${session_id}::uuid
     union
    select distinct session_id from svc.spans
     where trace_id = any(${pgArray(trace_ids)}::uuid[]) and session_id <> ${session_id}::uuid`);
  if (former.length > 0) await voidOutlines(tx, pgArray(former.map((row) => row.session_id)));
}

/** The commit of this revision has deleted rows. */
export const voidBefore = (tx: Sql, { session_id, rev }: { session_id: string; rev: number }) =>
  tx.rows(sql`update svc.session_revisions set floor = ${rev} where session_id = ${session_id}::uuid`);
