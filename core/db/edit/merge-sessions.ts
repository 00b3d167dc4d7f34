/** Merges a session into another, once a call has come that links the two: by a correction of each of its turns. */
import { sql } from 'drizzle-orm';
import { markFromScratch } from '../derive/mark-from-scratch.ts';
import { recordRewritten } from '../gc/rewritten-sessions.ts';
import { pgArray } from '../literals.ts';
import { recordChange } from '../record-change.ts';
import type { Sql } from '../sql.ts';
import { lockClaims, settleOwners } from '../store/call-owners.ts';
import { countMoved, emptyOut, setTimes, turnsOf } from './move-turns.ts';

/** `from` is part of `to`. */
export type Merge = { from: string; to: string };

const REASON = 'A call that came later goes on from this session, and another one from that call.';

/** Locks the merged sessions, and `others`, which the transaction will change. Call it before anything else locks sessions. */
export async function lockToMerge(tx: Sql, merges: readonly Merge[], others: readonly string[]): Promise<void> {
  if (merges.length === 0) return;
  const ids = [...new Set([...merges.flatMap(({ from, to }) => [from, to]), ...others])];
  await tx.rows(sql`
    select session_id from svc.sessions where session_id = any(${pgArray(ids)}::uuid[]) order by session_id for update`);
  await lockClaims(tx, 'to claim'); // the projections are removed together with their claims
}

/**
 * In the given order, within a transaction that holds `lockToMerge` and has stored its turns. A name that a person gave the merged
 * session goes to the other, unless that has one. If a person has deleted one of the two, nothing is merged.
 */
export async function mergeSessions(tx: Sql, merges: readonly Merge[]): Promise<void> {
  for (const one of merges) await merge(tx, one);
}

async function merge(tx: Sql, { from, to }: Merge): Promise<void> {
  const corrected = await tx.rows(sql`
    insert into svc.raw_turn_corrections (raw_turn_id, kind, session_id, thread_id, parent_harness_session_id, reason)
    select e.raw_turn_id, 'link', ${to}::uuid, e.thread_id, s.parent_harness_session_id, ${REASON}
      from (${turnsOf(from)}) f
      join svc.effective_turns e on e.raw_turn_id = f.raw_turn_id
      join svc.sessions s on s.session_id = ${to}::uuid
     where not exists (
       select 1 from svc.session_edits d where d.session_id in (${from}::uuid, ${to}::uuid) and d.deleted_at is not null)
     order by e.raw_turn_id
    returning raw_turn_id`);
  if (corrected.length === 0) return;
  await countMoved(tx, { from, to, turns: corrected.length });
  await setTimes(tx, to);
  await tx.rows(sql`
    insert into svc.session_edits as e (session_id, display_name, starred_at)
    select ${to}::uuid, f.display_name, f.starred_at from svc.session_edits f where f.session_id = ${from}::uuid
    on conflict (session_id) do update
       set display_name = coalesce(e.display_name, excluded.display_name),
           starred_at = coalesce(e.starred_at, excluded.starred_at), edited_at = excluded.edited_at`);
  await tx.rows(sql`
    update svc.sessions set fork_of_session_id = ${to}::uuid where fork_of_session_id = ${from}::uuid and session_id <> ${to}::uuid`);
  await moveReading(tx, { from, to });
  if (!(await emptyOut(tx, from))) await markFromScratch(tx, { session_id: from });
  await markFromScratch(tx, { session_id: to });
  await recordChange(tx, [from, to]);
}

/** Moves what was read of the turns too, so that a call that comes before they are read again finds what it continues. */
async function moveReading(tx: Sql, { from, to }: Merge): Promise<void> {
  await tx.rows(sql`delete from svc.transcript_readings where session_id in (${from}::uuid, ${to}::uuid)`);
  await recordRewritten(tx, to);
  await tx.rows(sql`
    update svc.nodes n
       set session_id = ${to}::uuid, partition_no = (select s.partition_no from svc.sessions s where s.session_id = ${to}::uuid)
     where n.session_id = ${from}::uuid
       and not exists (select 1 from svc.nodes o where o.session_id = ${to}::uuid and o.node_hash = n.node_hash)`);
  const moved = await tx.rows<{ call_key: string | null }>(sql`
    update svc.calls set session_id = ${to}::uuid where session_id = ${from}::uuid
    returning encode(call_key, 'hex') as call_key`);
  await settleOwners(
    tx,
    moved.flatMap(({ call_key }) => call_key ?? []),
    null,
  );
}
