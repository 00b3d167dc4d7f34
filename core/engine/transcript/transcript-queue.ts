/** The queue of uploaded transcripts that are ready to be stored: those that come at the same time share a transaction. */
import type { LooseSlice } from '../../call/complete-turn.ts';
import type { TurnRecord } from '../../call/prepared-turn.ts';
import type { Database } from '../../db/database.ts';
import type { StoredTranscript } from '../../db/store/append-transcripts.ts';
import { commitTogether, type Waiting, withSecondAttempt } from '../intake/commit-together.ts';
import { type NewSlices, openNewSlices } from '../intake/new-slices.ts';

export type TranscriptQueue = {
  /** @returns null: its session was purged, and it is not stored @throws {DatabaseError} the database does not take it */
  write(transcript: ReadyTranscript): Promise<StoredTranscript | null>;
};

/** The body as a record of the log, with all the slices that it refers to. */
export type ReadyTranscript = { turn: TurnRecord; slices: LooseSlice[] };

const BATCH = { transcripts: 16, bytes: 4_194_304 };
/** One batch is compressed while the one before it is stored. */
const UNDER_WAY = 2;

export function openTranscriptQueue(database: Database): TranscriptQueue {
  const newSlices = openNewSlices(database, 'fast');
  let waiting: Waiting<ReadyTranscript, StoredTranscript | null>[] = [];
  const sessions = new Set<string>(); // of the batches under way
  let underWay = 0;

  const writeAll = (): void => {
    while (underWay < UNDER_WAY) {
      const batch = nextBatch(waiting, sessions);
      if (batch.length === 0) return;
      waiting = waiting.filter((one) => !batch.includes(one));
      for (const one of batch) sessions.add(sessionOf(one));
      underWay++;
      void commitTogether(batch, (items) => commit(database, newSlices, items)).finally(() => {
        underWay--;
        for (const one of batch) sessions.delete(sessionOf(one));
        writeAll();
      });
    }
  };

  return {
    write: (transcript) =>
      new Promise((resolve, reject) => {
        waiting.push({ ...transcript, resolve, reject });
        writeAll();
      }),
  };
}

const commit = (
  database: Database,
  newSlices: NewSlices,
  batch: readonly ReadyTranscript[],
): Promise<(StoredTranscript | null)[]> =>
  newSlices.storing(
    batch.flatMap(({ slices }) => slices),
    ({ slices, purges }) => {
      const fresh = new Set(slices.map(({ slice_id }) => slice_id));
      const transcripts = batch.map(({ turn, slices: own }) => ({
        turn,
        slice_ids: own.map(({ slice_id }) => slice_id).filter((slice_id) => fresh.has(slice_id)),
      }));
      return withSecondAttempt(() => database.execute('appendTranscripts', { transcripts, slices, purges }));
    },
    (stored) => stored.every((one) => one?.deduped === false),
  );

/** The next transcripts of different sessions: of one session each is a commit of its own, in their order. */
function nextBatch<One extends ReadyTranscript>(waiting: readonly One[], underWay: ReadonlySet<string>): One[] {
  const batch: One[] = [];
  const seen = new Set(underWay);
  let bytes = 0;
  for (const one of waiting) {
    const session = sessionOf(one);
    if (!seen.has(session)) {
      bytes += one.turn.request.bytes;
      if (batch.length > 0 && bytes > BATCH.bytes) break;
      batch.push(one);
      if (batch.length === BATCH.transcripts) break;
    }
    seen.add(session);
  }
  return batch;
}

const sessionOf = ({ turn: { identity } }: ReadyTranscript): string =>
  JSON.stringify([identity.harness_id, identity.harness_session_id]);
