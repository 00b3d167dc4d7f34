/** What can be asked of the database? A line per question; its function stands in a file of this folder. */
import { appendTurns } from './append-turns.ts';
import { checkpoint } from './checkpoint.ts';
import { commitDerive } from './derive-commit.ts';
import {
  derivePending,
  failDerive,
  freeLeases,
  leaseDirty,
  markOutdated,
  renewLease,
  returnLease,
} from './derive-queue.ts';
import { deriveState, turnsToDerive } from './derive-turns.ts';
import { installation } from './installation.ts';
import { journalPositions } from './journal-positions.ts';
import { knownSlices } from './known-slices.ts';
import { listRawTurns } from './list-raw-turns.ts';
import { listSessions } from './list-sessions.ts';
import { listTraces } from './list-traces.ts';
import { parkTurn } from './park-turn.ts';
import { ping } from './ping.ts';
import { putNodes } from './put-nodes.ts';
import { rawTurnBytes } from './raw-turn-bytes.ts';
import { readCoverage } from './read-coverage.ts';
import { readSession } from './read-session.ts';
import { readSpan } from './read-span.ts';
import { readTrace } from './read-trace.ts';
import { resetProjection } from './reset-projection.ts';
import { linksOf, sessionTraces, spansOf } from './session-traces.ts';
import { unreadTurns } from './session-turns.ts';
import { vacuum } from './vacuum.ts';

export const questions = {
  commitDerive,
  derivePending,
  deriveState,
  failDerive,
  freeLeases,
  leaseDirty,
  markOutdated,
  renewLease,
  resetProjection,
  returnLease,
  turnsToDerive,
  unreadTurns,
  rawTurnBytes,
  putNodes,
  parkTurn,
  knownSlices,
  journalPositions,
  appendTurns,
  linksOf,
  listRawTurns,
  listSessions,
  listTraces,
  readCoverage,
  readSession,
  readSpan,
  readTrace,
  sessionTraces,
  spansOf,
  checkpoint,
  installation,
  ping,
  vacuum,
};

/** Milliseconds that one statement of a question may take, where the usual limit is too short. */
export const patience: { readonly [name: string]: number } = {
  checkpoint: 600_000,
  vacuum: 600_000,
};
