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
import { deriveReport } from './derive-report.ts';
import { deriveState, turnsToDerive } from './derive-turns.ts';
import { installation } from './installation.ts';
import { journalPositions } from './journal-positions.ts';
import { knownSlices } from './known-slices.ts';
import { listRawTurns } from './list-raw-turns.ts';
import { listSessions } from './list-sessions.ts';
import { listTraces } from './list-traces.ts';
import { markedPending, markFromScratch } from './mark-from-scratch.ts';
import { parkTurn } from './park-turn.ts';
import { ping } from './ping.ts';
import { lastAnswers, previousAnswers } from './previous-answers.ts';
import { rawTurnBytes } from './raw-turn-bytes.ts';
import { readCoverage } from './read-coverage.ts';
import { readSession } from './read-session.ts';
import { readSpan } from './read-span.ts';
import { readStats } from './read-stats.ts';
import { readStatus } from './read-status.ts';
import { readTrace } from './read-trace.ts';
import { replaceNodes } from './replace-nodes.ts';
import { linksOf, sessionTraces, spansOf } from './session-traces.ts';
import { turnsToRead } from './session-turns.ts';
import { storedCalls } from './stored-calls.ts';
import { vacuum } from './vacuum.ts';

export const questions = {
  commitDerive,
  derivePending,
  deriveReport,
  deriveState,
  failDerive,
  freeLeases,
  leaseDirty,
  markOutdated,
  renewLease,
  returnLease,
  turnsToDerive,
  turnsToRead,
  markFromScratch,
  markedPending,
  replaceNodes,
  previousAnswers,
  lastAnswers,
  storedCalls,
  rawTurnBytes,
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
  readStats,
  readStatus,
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
  replaceNodes: 600_000,
  vacuum: 600_000,
};
