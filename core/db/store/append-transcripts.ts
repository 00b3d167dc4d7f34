/** Appends uploaded transcripts to the log: as records of their sessions, once for each identity; they make no calls and no nodes. */
import { sql } from 'drizzle-orm';
import { sessionId } from '../../call/identity.ts';
import type { TurnRecord } from '../../call/prepared-turn.ts';
import type { PackedSlice } from '../../capture/slice-codec.ts';
import { pgArray } from '../literals.ts';
import { pipelined } from '../pipelined.ts';
import type { Sql } from '../sql.ts';
import { useIndexes } from '../use-indexes.ts';
import { type LoggedTurn, logTurns } from './log-turns.ts';
import { markDirty, notifyDirty } from './mark-dirty.ts';
import { holdSlices } from './purge-count.ts';
import { isPurged } from './purged-session.ts';
import { type StoredCall, storedCalls } from './stored-calls.ts';

/** `slice_ids`: those of `slices` that it consists of. */
export type TranscriptToStore = { turn: TurnRecord; slice_ids: string[] };

/** `slices` may omit those that were stored already at this count of purges. */
export type TranscriptBatch = { transcripts: TranscriptToStore[]; slices: PackedSlice[]; purges: string | undefined };

/** `session_id`: the session for which it counts. */
export type StoredTranscript = { raw_turn_id: number; session_id: string; deduped: boolean };

/**
 * Stores those whose identity is not stored yet; the sessions of all are queued for derivation. They are no requests of the proxy, so they
 * are not in the coverage. Of a purged session nothing is stored: the harness still has its file, and would bring the purged text back.
 * @param batch of different sessions
 * @returns in the same order; null: the session was purged
 * @throws {DatabaseError} PURGED_MEANWHILE (purge-count.ts); a unique violation when the same is being stored concurrently: retry
 */
export const appendTranscripts = (
  db: Sql,
  { transcripts, slices, purges }: TranscriptBatch,
): Promise<(StoredTranscript | null)[]> =>
  db.transaction(async (tx) => {
    const [, , existing, purged] = await pipelined([
      useIndexes(tx),
      holdSlices(tx, purges),
      existingCalls(tx, transcripts),
      purgedSessions(tx, transcripts),
    ]);
    const fresh = transcripts.filter(({ turn }) => !existing.has(turn.call_id) && !purged.has(sessionOf(turn)));
    const logged = await logTranscripts(tx, fresh, slices);
    const stored = transcripts.map(({ turn }): StoredTranscript | null => {
      const found = existing.get(turn.call_id);
      if (!found && purged.has(sessionOf(turn))) return null;
      const { raw_turn_id, session_id } = found ?? logged(turn.call_id);
      return { raw_turn_id, session_id, deduped: found !== undefined };
    });
    const session_ids = new Set(stored.flatMap((one) => one?.session_id ?? []));
    if (session_ids.size > 0) await pipelined([markDirty(tx, [...session_ids]), notifyDirty(tx)]);
    return stored;
  });

async function existingCalls(tx: Sql, transcripts: readonly TranscriptToStore[]): Promise<Map<string, StoredCall>> {
  const calls = await storedCalls(tx, { call_ids: transcripts.map(({ turn }) => turn.call_id) });
  return new Map(calls.map((call) => [call.call_id, call]));
}

const sessionOf = ({ identity: { harness_id, harness_session_id } }: TurnRecord): string =>
  sessionId(harness_id, harness_session_id);

async function purgedSessions(tx: Sql, transcripts: readonly TranscriptToStore[]): Promise<Set<string>> {
  const purged = await tx.rows<{ session_id: string }>(sql`
    select s.session_id
      from svc.sessions s
      join svc.session_edits e on e.session_id = s.session_id
     where s.session_id = any(${pgArray(transcripts.map(({ turn }) => sessionOf(turn)))}::uuid[])
       and ${isPurged}`);
  return new Set(purged.map(({ session_id }) => session_id));
}

/** Of what is stored already no slice is written: nothing would refer to it. */
async function logTranscripts(tx: Sql, transcripts: readonly TranscriptToStore[], slices: readonly PackedSlice[]) {
  const turns = transcripts.map(({ turn }): LoggedTurn => {
    const { harness_id, harness_session_id } = turn.identity;
    const session_id = sessionOf(turn);
    return { ...turn, source: 'transcript', place: { session_id, harness_id, harness_session_id, fork: null } };
  });
  const wanted = new Set(transcripts.flatMap(({ slice_ids }) => slice_ids));
  const own = slices.filter(({ slice_id }) => wanted.has(slice_id));
  const ids = turns.length > 0 ? (await logTurns(tx, turns, own)).ids : new Map<string, number>();
  const sessions = new Map(turns.map(({ call_id, place }) => [call_id, place.session_id]));
  return (call_id: string) => ({ raw_turn_id: ids.get(call_id) ?? 0, session_id: sessions.get(call_id) ?? '' });
}
