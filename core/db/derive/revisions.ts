/** The revisions of a session's projection, by which readers of its outline learn what changed since they read it. */
import { sql } from 'drizzle-orm';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

/** `partition_no`: that of the session, in which its spans are. */
export type Revision = { rev: number; partition_no: number };

/**
 * The revisions of the commit under way, by session. Their rows stay locked until its end, so that revisions are committed in their
 * order: who reads one has all before it.
 */
export async function nextRevisions(tx: Sql, session_ids: readonly string[]): Promise<Map<string, Revision>> {
  const rows = await tx.rows<Revision & { session_id: string }>(sql`
    insert into svc.session_revisions as v (session_id, rev, floor)
    select session_id, 2, 1 from unnest(${pgArray(session_ids)}::uuid[]) as n (session_id) order by session_id
    on conflict (session_id) do update set rev = v.rev + 1
    returning session_id, rev,
      coalesce((select s.partition_no from svc.sessions s where s.session_id = v.session_id), 0) as partition_no`);
  return new Map(rows.map(({ session_id, ...revision }) => [session_id, revision]));
}

/** Rows of these sessions were deleted: what their readers have is void. In one order, so that two of these cannot deadlock. */
export async function voidOutlines(tx: Sql, session_ids: string): Promise<void> {
  await tx.rows(sql`
    insert into svc.session_revisions as v (session_id, rev, floor)
    select distinct session_id, 2, 2 from unnest(${session_ids}::uuid[]) as n (session_id) order by session_id
    on conflict (session_id) do update set rev = v.rev + 1, floor = v.rev + 1`);
}

/** The commit of this revision has deleted rows. */
export const voidBefore = (tx: Sql, { session_id, rev }: { session_id: string; rev: number }) =>
  tx.rows(sql`update svc.session_revisions set floor = ${rev} where session_id = ${session_id}::uuid`);
