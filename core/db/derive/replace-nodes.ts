/** Replaces a session's nodes by those of a new reading, in one transaction, so that no reader sees it without any; identical rows stay. */
import { sql } from 'drizzle-orm';
import type { PackedSlice } from '../../capture/slice-codec.ts';
import { DatabaseError } from '../../errors.ts';
import { batches } from '../batches.ts';
import { recordRewritten } from '../gc/rewritten-sessions.ts';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { lockClaims, settleOwners } from '../store/call-owners.ts';
import { insertNodes, nodeRows, type PlacedNode } from '../store/insert-nodes.ts';
import { holdSlices } from '../store/purge-count.ts';
import { insertCalls, type PlacedRow } from '../store/put-nodes.ts';
import { putSlices } from '../store/put-slices.ts';
import { lastCorrection } from './session-turns.ts';
import { mendHeads } from './transcript-readings.ts';
import { unchangedCalls, unchangedNodes } from './unchanged-rows.ts';

export type NewReading = {
  session_id: string;
  read_up_to: number; // the highest raw_turn_id that was read
  calls: PlacedRow[];
  nodes: PlacedNode[];
  slices: PackedSlice[]; // of messages that are no slice of a body
  purges: string; // the count when the reading began: what it read may have been purged since
  corrections: number; // likewise: the newest correction that concerns the session
};

/** The `sqlstate` of a refusal: the session is to be read once more, from its first turn. */
export const CORRECTED_MEANWHILE = 'SVC02';

/**
 * Replaces the existing reading, and marks the session as read: what was derived from the former nodes has to be derived again.
 * False, and nothing is changed, when turns have come in meanwhile: they have to be read too.
 * @throws {DatabaseError} PURGED_MEANWHILE (purge-count.ts), CORRECTED_MEANWHILE
 */
export const replaceNodes = (
  db: Sql,
  { session_id, read_up_to, calls, nodes, slices, purges, corrections }: NewReading,
): Promise<boolean> =>
  db.transaction(async (tx) => {
    await holdSlices(tx, purges);
    // Intake writes nodes under this lock, and corrections move turns under it.
    await tx.rows(sql`select session_id from svc.sessions where session_id = ${session_id} for update`);
    if ((await lastCorrection(tx, { session_id })) !== corrections)
      throw new DatabaseError('Cannot store a reading: turns were moved meanwhile', CORRECTED_MEANWHILE, true);
    const newer = await tx.rows(sql`
      select t.raw_turn_id from svc.raw_turns t
       where t.session_id = ${session_id} and t.raw_turn_id > ${read_up_to} and t.source = 'wire'
         and not exists (select 1 from svc.raw_turn_corrections k where k.raw_turn_id = t.raw_turn_id)
       limit 1`);
    if (newer.length > 0) return false;
    await recordRewritten(tx, session_id);
    await putSlices(tx, slices);
    await putNodes(tx, session_id, nodes);
    await putCalls(tx, session_id, calls);
    // The nodes of transcripts were deleted as well: derivation reads the transcripts again.
    await tx.rows(sql`delete from svc.transcript_readings where session_id = ${session_id}`);
    await tx.rows(sql`delete from svc.transcript_calls where session_id = ${session_id}`);
    await tx.rows(sql`delete from svc.derive_states where session_id = ${session_id}`);
    await tx.rows(sql`update svc.derive_queue set from_scratch = false where session_id = ${session_id}`);
    return true;
  });

/** Deletes nodes that the reading does not have, leaves identical ones, and inserts the others. */
async function putNodes(tx: Sql, session_id: string, nodes: readonly PlacedNode[]): Promise<void> {
  const unchanged = new Set<string>();
  for (const rows of batches(nodes)) for (const hash of await unchangedNodes(tx, session_id, rows)) unchanged.add(hash);
  const removed = await tx.rows<{ parent_hash: string | null }>(sql`
    delete from svc.nodes
     where session_id = ${session_id} and encode(node_hash, 'hex') <> all(${pgArray([...unchanged])}::text[])
    returning encode(parent_hash, 'hex') as parent_hash`);
  for (const changed of batches(nodes.filter(({ node_hash }) => !unchanged.has(node_hash))))
    await insertNodes(tx, nodeRows(changed));
  const parents = new Set(
    removed.flatMap(({ parent_hash }) => (parent_hash && unchanged.has(parent_hash) ? parent_hash : [])),
  );
  if (parents.size > 0) await mendHeads(tx, session_id, [...parents]);
}

/** The same for calls; a correction may have moved some here from another session. */
async function putCalls(tx: Sql, session_id: string, calls: readonly PlacedRow[]): Promise<void> {
  const unchanged = new Set<number>();
  for (const rows of batches(calls)) for (const id of await unchangedCalls(tx, rows)) unchanged.add(id);
  const turnIds = pgArray(calls.map(({ raw_turn_id }) => raw_turn_id));
  const removed = await tx.rows<{ call_key: string | null }>(sql`
    delete from svc.calls
     where (session_id = ${session_id} or raw_turn_id = any(${turnIds}::bigint[]))
       and raw_turn_id <> all(${pgArray([...unchanged])}::bigint[])
    returning encode(call_key, 'hex') as call_key`);
  for (const rows of batches(calls.filter(({ raw_turn_id }) => !unchanged.has(raw_turn_id))))
    await insertCalls(tx, rows);
  const call_keys = removed.flatMap(({ call_key }) => call_key ?? []);
  if (call_keys.length > 0) await lockClaims(tx, 'to look');
  await settleOwners(tx, call_keys, null);
}
