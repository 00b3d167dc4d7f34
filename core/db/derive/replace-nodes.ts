/** How does a session get the nodes of a new reading? All at once, so that nobody meets it without any; what stands so stays. */
import { sql } from 'drizzle-orm';
import type { PackedSlice } from '../../capture/slice-codec.ts';
import { DatabaseError } from '../../errors.ts';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { lockClaims, settleOwners } from '../store/call-owners.ts';
import { holdSlices } from '../store/purge-count.ts';
import { insertCalls, insertNodes, type PlacedNode, type PlacedRow } from '../store/put-nodes.ts';
import { putSlices } from '../store/put-slices.ts';
import { lastCorrection } from './session-turns.ts';
import { mendHeads } from './transcript-readings.ts';
import { unchangedCalls, unchangedNodes } from './unchanged-rows.ts';

export type NewReading = {
  session_id: string;
  read_up_to: number; // the highest raw_turn_id that was read
  calls: PlacedRow[];
  nodes: PlacedNode[];
  slices: PackedSlice[]; // of messages that no body holds as a piece
  purges: number; // when the reading began: what it read may have been purged since
  corrections: number; // likewise: the newest one that concerns the session
};

const AT_ONCE = 2_000; // rows of one statement

/** The `sqlstate` of a refusal: the session is to be read once more, from its first turn. */
export const CORRECTED_MEANWHILE = 'SVC02';

/**
 * Puts the reading in place of what stands, and marks the session as read: what was derived from the former nodes is due anew.
 * False, and nothing is changed, when turns have come in meanwhile: they are to be read too.
 * @throws {DatabaseError} PURGED_MEANWHILE (purge-count.ts), CORRECTED_MEANWHILE
 */
export const replaceNodes = (
  db: Sql,
  { session_id, read_up_to, calls, nodes, slices, purges, corrections }: NewReading,
): Promise<boolean> =>
  db.transaction(async (tx) => {
    await holdSlices(tx, purges);
    // Intake writes nodes under this lock, and whoever moves a turn holds it.
    await tx.rows(sql`select session_id from svc.sessions where session_id = ${session_id} for update`);
    if ((await lastCorrection(tx, { session_id })) !== corrections)
      throw new DatabaseError('Cannot store a reading: turns were moved meanwhile', CORRECTED_MEANWHILE, true);
    const newer = await tx.rows(sql`
      select t.raw_turn_id from svc.raw_turns t
       where t.session_id = ${session_id} and t.raw_turn_id > ${read_up_to} and t.source = 'wire'
         and not exists (select from svc.raw_turn_corrections k where k.raw_turn_id = t.raw_turn_id)
       limit 1`);
    if (newer.length > 0) return false;
    await putSlices(tx, slices);
    await putNodes(tx, session_id, nodes);
    await putCalls(tx, session_id, calls);
    // What transcripts say has gone with the nodes: derivation reads it again.
    await tx.rows(sql`delete from svc.transcript_readings where session_id = ${session_id}`);
    await tx.rows(sql`delete from svc.transcript_calls where session_id = ${session_id}`);
    await tx.rows(sql`delete from svc.derive_states where session_id = ${session_id}`);
    await tx.rows(sql`update svc.derive_queue set from_scratch = false where session_id = ${session_id}`);
    return true;
  });

/** What stands and is not said so goes; what stands just so is not touched. */
async function putNodes(tx: Sql, session_id: string, nodes: readonly PlacedNode[]): Promise<void> {
  const kept = new Set<string>();
  for (const rows of parts(nodes)) for (const hash of await unchangedNodes(tx, session_id, rows)) kept.add(hash);
  const lost = await tx.rows<{ parent_hash: string | null }>(sql`
    delete from svc.nodes
     where session_id = ${session_id} and encode(node_hash, 'hex') <> all(${pgArray([...kept])}::text[])
    returning encode(parent_hash, 'hex') as parent_hash`);
  for (const rows of parts(nodes.filter(({ node_hash }) => !kept.has(node_hash)))) await insertNodes(tx, rows);
  const bereft = new Set(lost.flatMap(({ parent_hash }) => (parent_hash && kept.has(parent_hash) ? parent_hash : [])));
  if (bereft.size > 0) await mendHeads(tx, session_id, [...bereft]);
}

/** A correction may have brought some from another session. */
async function putCalls(tx: Sql, session_id: string, calls: readonly PlacedRow[]): Promise<void> {
  const kept = new Set<number>();
  for (const rows of parts(calls)) for (const id of await unchangedCalls(tx, rows)) kept.add(id);
  const read = pgArray(calls.map(({ raw_turn_id }) => raw_turn_id));
  const gone = await tx.rows<{ call_key: string | null }>(sql`
    delete from svc.calls
     where (session_id = ${session_id} or raw_turn_id = any(${read}::bigint[]))
       and raw_turn_id <> all(${pgArray([...kept])}::bigint[])
    returning encode(call_key, 'hex') as call_key`);
  for (const rows of parts(calls.filter(({ raw_turn_id }) => !kept.has(raw_turn_id)))) await insertCalls(tx, rows);
  const call_keys = gone.flatMap(({ call_key }) => call_key ?? []);
  if (call_keys.length > 0) await lockClaims(tx, 'to look');
  await settleOwners(tx, call_keys, null);
}

function* parts<T>(rows: readonly T[]): Generator<T[]> {
  for (let from = 0; from < rows.length; from += AT_ONCE) yield rows.slice(from, from + AT_ONCE);
}
