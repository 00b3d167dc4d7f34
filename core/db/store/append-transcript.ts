/** Appends an uploaded transcript to the log: as a record of its session, once for each identity; it makes no call and no node. */
import { sessionId } from '../../call/identity.ts';
import type { TurnRecord } from '../../call/prepared-turn.ts';
import type { PackedSlice } from '../../capture/slice-codec.ts';
import type { Sql } from '../sql.ts';
import { logTurns } from './log-turns.ts';
import { markDirty, notifyDirty } from './mark-dirty.ts';
import { holdSlices } from './purge-count.ts';
import { storedCalls } from './stored-calls.ts';

/** `slices` may omit those that were stored already at this count of purges. */
export type TranscriptToStore = { turn: TurnRecord; slices: PackedSlice[]; purges: number | undefined };

/** `session_id`: the session for which it counts. */
export type StoredTranscript = { raw_turn_id: number; session_id: string; deduped: boolean };

/**
 * Stores the record unless its identity is stored already; its session is queued for derivation in both cases. It is no request of the
 * proxy, so it is not in the coverage.
 * @throws {DatabaseError} PURGED_MEANWHILE (purge-count.ts); a unique violation when the same is being stored concurrently: retry
 */
export const appendTranscript = (db: Sql, { turn, slices, purges }: TranscriptToStore): Promise<StoredTranscript> =>
  db.transaction(async (tx) => {
    await holdSlices(tx, purges);
    const [existing] = await storedCalls(tx, { call_ids: [turn.call_id] });
    const stored = existing ?? (await logTranscript(tx, turn, slices));
    await markDirty(tx, [stored.session_id]);
    await notifyDirty(tx);
    return { raw_turn_id: stored.raw_turn_id, session_id: stored.session_id, deduped: existing !== undefined };
  });

async function logTranscript(tx: Sql, turn: TurnRecord, slices: readonly PackedSlice[]) {
  const { harness_id, harness_session_id } = turn.identity;
  const session_id = sessionId(harness_id, harness_session_id);
  const place = { session_id, harness_id, harness_session_id, fork: null };
  const { ids } = await logTurns(tx, [{ ...turn, source: 'transcript', place }], slices);
  return { session_id, raw_turn_id: ids.get(turn.call_id) ?? 0 };
}
