/**
 * The journal: keeps a copy of each call while its bytes pass, by appending to files that outlive the process and need no database.
 *
 * All of it runs on the listeners' thread, so nothing here blocks and nothing throws at a caller. Records are gathered in memory
 * (journal-append.ts, journal-blocks.ts) and written within a few milliseconds, one write at a time (journal-writer.ts,
 * journal-tail.ts). What a failing disk refuses stays in memory, up to a bound. No library does this: embedded stores are native code
 * that commits each record or loses many, and writers of logs do not know what has been read and may be deleted.
 */
import { chmod, mkdir, rmdir } from 'node:fs/promises';
import { v7 } from 'uuid';
import { OperatorError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { appendJson } from './journal-append.ts';
import { emptyBlocks } from './journal-blocks.ts';
import { type CallCopy, type Copying, HEADS_RESERVE_BYTES, openCopy } from './journal-copy.ts';
import { runFolder, runsIn, segmentsIn } from './journal-files.ts';
import type { CallOpened, OutcomeRecord } from './journal-format.ts';
import { journalLimit } from './journal-limit.ts';
import { KIND } from './journal-record.ts';
import { openTail, type SegmentWrite, syncFolder, type Tail, writeSegment } from './journal-tail.ts';
import { openJournalWriter, type WrittenListener } from './journal-writer.ts';
import type { Redacted } from './redact.ts';

const SEGMENTS_AT_LEAST = 8; // in a full journal: only whole segments are ever deleted, so a single one would keep it full for good
const REPORT_INTERVAL_MS = 60_000;
const RECOUNT_MS = 2_000; // until the journal is measured again: after a refusal of the disk, or while it is full

export type Journal = {
  runId: string;
  /** Bytes on disk, of all runs, at which it is full: as configured, or less on a small volume. */
  maxBytes: number;
  /** Begins a copy; its record is on its way to the disk when this returns. Null: full or failing, and the caller books `journal_full`. */
  open(opened: Redacted<CallOpened>): CallCopy | null;
  /** Records a request of which only the outcome is stored. */
  recordOutcome(counted: OutcomeRecord): void;
  /** Bytes on disk, of all runs. */
  bytes(): number;
  /** Calls begun since the start. */
  calls(): number;
  /** Resolves when all that was appended before is written, or when the disk has refused it once more. */
  flush(): Promise<void>;
  /**
   * Calls the listener with the journal's end after each write, and whether that write held the end of a call; and at once with the
   * current end. Returns the function that removes the listener.
   */
  onWritten(listener: WrittenListener): () => void;
  /**
   * Measures anew what is on disk: the reader, which may be another process, has deleted segments. Where the disk refuses, the value
   * stays and is measured later. A full journal does it by itself every few seconds, since a message of the reader may be lost.
   */
  recount(): void;
  /** Writes and syncs what is left. Afterwards nothing is recorded any more. */
  close(): Promise<void>;
};

export type JournalOptions = {
  folder: string;
  maxBytes: number; // of all runs on disk, where their volume can hold that much
  segmentBytes?: number; // the size at which the next batch begins a new segment
  pendingBytes?: number; // in memory and not yet on disk
  log: Logger;
  write?: SegmentWrite;
};

/**
 * Begins a run: a folder of its own, under an id that no earlier run has. No other process may write below `folder` meanwhile.
 * @throws {OperatorError} the folder cannot be made
 */
export async function openJournal({
  folder,
  maxBytes: configuredBytes,
  segmentBytes,
  pendingBytes = 67_108_864,
  log,
  write = writeSegment,
}: JournalOptions): Promise<Journal> {
  const runId = v7();
  const others = { bytes: bytesOfRuns(folder) }; // of earlier runs, less what was deleted of this one
  await makeFolders(folder, runId);
  const maxBytes = await limitOf(folder, configuredBytes, log);
  const tail = openTail({ ...{ folder, runId, write }, segmentBytes: segmentBytes ?? segmentBytesOf(maxBytes) });
  await beginTail(tail, log);

  const blocks = emptyBlocks();
  const onDisk = () => others.bytes + tail.bytes();
  const reportError = openErrorReport(log, () => ({ on_disk_bytes: onDisk(), pending_bytes: blocks.pending }));
  const writer = openJournalWriter({ blocks, tail, log, reportError });
  const { added } = writer;
  const measure = () => {
    others.bytes = bytesOfRuns(folder) - tail.bytes();
  };
  const { recount, full, stop: stopRecounting } = openRecount(measure, reportError);
  const journal: Copying = {
    ...{ blocks, maxBytes, pendingBytes, onDisk, added, full, reportError },
    ...{ openCalls: 0, lastCall: 0, closed: false },
  };
  return {
    ...{ runId, maxBytes },
    open: (opened) => (journal.closed || writer.failing() ? null : openCopy(journal, opened)),
    recordOutcome: (counted) => {
      if (journal.closed || !appendJson(journal, KIND.counted, 0, counted, HEADS_RESERVE_BYTES))
        reportError('Cannot book all requests: no room is left');
    },
    bytes: onDisk,
    calls: () => journal.lastCall,
    flush: writer.flush,
    onWritten: writer.onWritten,
    recount,
    close: async () => {
      if (journal.closed) return;
      journal.closed = true;
      stopRecounting();
      await writer.close();
      await rmdir(runFolder(folder, runId)).catch(() => {}); // only where nothing was ever written
    },
  };
}

/** The bytes on disk of all runs below a journal's folder. */
export const bytesOfRuns = (folder: string): number =>
  runsIn(folder)
    .flatMap((run) => segmentsIn(folder, run))
    .reduce((sum, file) => sum + file.bytes, 0);

/** `recount` never throws: what the disk refuses is measured a little later. `full` recounts unless that was done a moment ago. */
function openRecount(measure: () => void, reportError: (message: string, code?: string) => void) {
  let measuredAt = performance.now();
  let later: NodeJS.Timeout | undefined;
  const recount = () => {
    clearTimeout(later);
    measuredAt = performance.now();
    try {
      measure();
    } catch (error) {
      reportError('Cannot measure the journal', (error as NodeJS.ErrnoException).code);
      later = setTimeout(recount, RECOUNT_MS).unref();
    }
  };
  return {
    recount,
    full: () => {
      if (performance.now() - measuredAt >= RECOUNT_MS) recount();
    },
    stop: () => clearTimeout(later),
  };
}

async function makeFolders(folder: string, runId: string): Promise<void> {
  try {
    await mkdir(runFolder(folder, runId), { recursive: true, mode: 0o700 });
    await chmod(folder, 0o700);
    await syncFolder(folder);
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? 'unknown';
    throw new OperatorError(`Cannot keep a journal in "${folder}": ${reason}`, 1, { cause: error });
  }
}

async function limitOf(folder: string, configuredBytes: number, log: Logger): Promise<number> {
  const maxBytes = await journalLimit(folder, configuredBytes);
  if (maxBytes < configuredBytes)
    log.warn({ max_bytes: maxBytes }, "The journal's volume is smaller than journal.max_bytes: this is its limit");
  return maxBytes;
}

const segmentBytesOf = (maxBytes: number) => Math.min(67_108_864, Math.ceil(maxBytes / SEGMENTS_AT_LEAST));

const beginTail = (tail: Tail, log: Logger): Promise<void> =>
  tail.begin().catch((error: NodeJS.ErrnoException) => {
    log.error(
      { code: error.code },
      'Cannot begin the journal: the disk refuses; it is tried again with the first call',
    );
  });

/** Logs an error, and the same one not again for a minute. */
function openErrorReport(log: Logger, state: () => Record<string, number>): (message: string, code?: string) => void {
  const mutedUntil = new Map<string, number>();
  return (message, code) => {
    if (performance.now() < (mutedUntil.get(message) ?? 0)) return;
    mutedUntil.set(message, performance.now() + REPORT_INTERVAL_MS);
    log.error({ code, ...state() }, message);
  };
}
