/**
 * Reads what the journal holds and the database does not have yet: calls, reassembled in the order in which they ended.
 *
 * Runs are read one after the other: those of dead processes first, oldest first, then the live one. When the writer of the live one
 * has ended and another one writes, that run is read to its end like any other of a dead process. While a call is open only the
 * spans of its bodies are kept, so a body of any size costs no memory before its call has ended.
 *
 * **Exactly once.** Each entry carries the position behind it; the caller stores that of the last entry in the same transaction as
 * the entries. A reader opened with the stored positions reads a run again from its first segment, since a call that is still to come
 * may have begun there, and delivers only what lies behind the position.
 * A call that was open when its run died has no end in any file. Such calls come last, by number, at positions of their own behind all
 * files: segment `END_OF_RUN`, offset = the call's number; `finished` is behind the highest. So they need not come in one read with
 * `finished`, which could be more than memory holds: between any two of them the position says which were taken.
 */
import { rmSync } from 'node:fs';
import { setImmediate as immediately } from 'node:timers/promises';
import type { Logger } from '../log.ts';
import { applyRecord, type Delivery, isBehind, type JournalEntry, takeEnd, takeEndOfRun } from './journal-calls.ts';
import { carriesOnceCommitted } from './journal-carry.ts';
import { carriagePath, runsIn, type SegmentFile } from './journal-files.ts';
import type { JournalPosition } from './journal-format.ts';
import { KIND } from './journal-record.ts';
import { type Runs, removableSegments, removeIfEmpty, removeSegments } from './journal-removal.ts';
import { type JournalRun, type OpenCall, PIECE_BYTES } from './journal-run.ts';
import { openScan } from './journal-scan.ts';
import { type SetBackRun, setBackRuns } from './journal-set-back.ts';
import { DAMAGED_AFTER_MS } from './journal-windows.ts';

export type JournalReader = {
  /** Sets how far the live run is written. Nothing behind that is read. */
  written(segment: number, byteOffset: number): void;
  /** Another process writes from now on, in a run of its own; that of the last live run has ended. */
  nextRun(runId: string): void;
  /**
   * The next entries, at most so many, and at most so many bytes of bodies unless the first alone has more. Empty: no more for now.
   * One read at a time. Never throws because of a file's content.
   * @throws the disk's error, where nothing could be read: the next call goes on from the same place
   */
  read(limit: { entries: number; bytes: number }): Promise<JournalEntry[]>;
  /** The database has all entries of that run up to this position. */
  committed(position: JournalPosition): void;
  /** The last position of each run that was committed, or that was stored when the reader was opened. */
  committedPositions(): readonly JournalPosition[];
  /**
   * Begins again behind other positions: those of a database that has lost its last commits. Not while a read is under way.
   * @returns what it lacks
   */
  reopen(positions: readonly JournalPosition[]): SetBackRun[];
  /** When the oldest call ended that was delivered and is not committed yet, in milliseconds since 1970; null: there is none. */
  oldest(): number | null;
  /** Whether open calls hold segments out of which they are carried forward once all that was delivered is committed. */
  carriesOnceCommitted(): boolean;
  /**
   * Segments that nothing uncommitted needs, in the order in which they may be deleted: no open call needs them either, or what it
   * recorded there can be carried forward at a gain.
   */
  removable(): SegmentFile[];
  /**
   * Deletes what `removable` returned, after carrying forward what is still needed of it, and the folders of finished runs that are
   * empty then. Not while a read is under way. @returns the bytes freed
   */
  remove(segments: readonly SegmentFile[]): Promise<number>;
  close(): void;
};

type Options = {
  folder: string;
  liveRunId: string | null; // null: no process writes here
  positions: readonly JournalPosition[];
  log: Logger;
  damagedAfterMs?: number; // a segment that cannot be read so long counts as damaged, unless the process is what is refused
};

/** @param positions as stored in the database; runs that are not among them have not been read at all */
export function openJournalReader(options: Options): JournalReader {
  let runs = openRuns(options);
  let live: LiveRun = { runId: options.liveRunId, written: null };
  let known = byRun(options.positions);
  const reading = { run: 0 }; // index of the run that is being read; those before it have been
  const written = (segment: number, byteOffset: number) => {
    live = { ...live, written: { segment, byteOffset } };
    runs.all.find((run) => run.live)?.scan.written(segment, byteOffset);
  };
  return {
    written,
    nextRun: (runId) => {
      live = { runId, written: null };
      for (const run of runs.all.filter(({ live }) => live)) {
        run.live = false;
        run.scan.ended();
      }
      runs.all.push(openRun({ ...options, liveRunId: runId }, runId, undefined));
    },
    read: async (limit) => {
      const delivery: Delivery = { entries: [], room: limit.bytes, log: options.log };
      try {
        await deliverFrom(runs, reading, delivery, limit.entries);
      } catch (error) {
        if (delivery.entries.length === 0) throw error; // else the next read meets it
      }
      reportOrphanedEnds(runs);
      return delivery.entries;
    },
    committed: (position) => {
      known.set(position.run_id, position);
      committed(runs, position);
    },
    committedPositions: () => [...known.values()],
    reopen: (positions) => {
      const setBack = setBackRuns(options.folder, [...known.values()], positions);
      for (const run of runs.all) run.scan.close();
      runs = openRuns({ ...options, positions, liveRunId: live.runId });
      reading.run = 0;
      known = byRun(positions);
      if (live.written) written(live.written.segment, live.written.byteOffset);
      return setBack;
    },
    oldest: () => oldestEnd(runs),
    carriesOnceCommitted: () => runs.all.some((run) => carriesOnceCommitted(runs.folder, run)),
    removable: () => removableSegments(runs),
    remove: (segments) => removeSegments(runs, segments),
    close: () => {
      for (const run of runs.all) run.scan.close();
    },
  };
}

/** `written`: how far; null: nothing is known of it. */
type LiveRun = { runId: string | null; written: { segment: number; byteOffset: number } | null };

const byRun = (positions: readonly JournalPosition[]) =>
  new Map(positions.map((position) => [position.run_id, position]));

function openRuns(options: Options): Runs {
  const { folder, liveRunId, positions, log } = options;
  const stored = new Map(positions.map((position) => [position.run_id, position]));
  const done = new Set<string>();
  const dead: string[] = [];
  for (const run of runsIn(folder).filter((run) => run !== liveRunId)) {
    const emptied = removeIfEmpty(folder, run);
    if (stored.get(run)?.finished) done.add(run);
    else if (!emptied || stored.has(run)) dead.push(run);
  }
  const all = dead.map((run) => openRun(options, run, stored.get(run)));
  if (liveRunId !== null) all.push(openRun(options, liveRunId, stored.get(liveRunId)));
  return { folder, all, done, log };
}

function openRun(options: Options, run_id: string, stored: JournalPosition | undefined): JournalRun {
  const { folder, liveRunId, log, damagedAfterMs = DAMAGED_AFTER_MS } = options;
  const live = run_id === liveRunId;
  const open = new Map<number, OpenCall>();
  const onDamage = () => {
    for (const call of open.values()) call.doubtful = true;
  };
  const scan = openScan({ folder, runId: run_id, live, damagedAfterMs, onDamage, log });
  rmSync(carriagePath(folder, run_id), { recursive: true, force: true }); // left by a process that was killed while writing it
  return {
    run_id,
    live,
    scan,
    stored: stored ?? { run_id, segment: 0, byte_offset: 0, finished: false },
    open,
    uncommitted: [],
    highestCall: 0,
    orphanedEnds: 0,
    crashed: null,
    delivered: false,
    carryAt: 0,
  };
}

/** Reads on until the delivery is full or there is nothing more for now. @param reading moved to the run that is to be read next */
async function deliverFrom(
  runs: Runs,
  reading: { run: number },
  delivery: Delivery,
  maxEntries: number,
): Promise<void> {
  let scannedBytes = 0;
  for (let run = runs.all[reading.run]; run && hasRoom(delivery, maxEntries); run = runs.all[reading.run]) {
    const record = run.scan.peek();
    if (record) scannedBytes += record.end - record.start;
    if (record && record.kind !== KIND.closed && record.kind !== KIND.counted) {
      applyRecord(run, record, runs.log);
      run.scan.advance();
    } else if (record) {
      if (!(await takeEnd(run, record, delivery))) break;
    } else if (run.scan.unreadable()) reading.run++;
    else if (run.live) break;
    else if (!(await takeEndOfRun(run, delivery))) break;
    else if (run.delivered) reading.run++;
    if (scannedBytes >= PIECE_BYTES) {
      scannedBytes = 0;
      await immediately();
    }
  }
}

const hasRoom = ({ entries, room }: Delivery, maxEntries: number): boolean => entries.length < maxEntries && room > 0;

function reportOrphanedEnds({ all, log }: Runs): void {
  for (const run of all) {
    if (run.orphanedEnds === 0) continue;
    log.warn(
      { run_id: run.run_id, calls: run.orphanedEnds },
      'Cannot hand out all calls: their first records are lost',
    );
    run.orphanedEnds = 0;
  }
}

function committed({ folder, all, done }: Runs, position: JournalPosition): void {
  const run = all.find(({ run_id }) => run_id === position.run_id);
  if (!run) return;
  run.uncommitted = position.finished ? [] : run.uncommitted.filter((entry) => isBehind(entry.position, position));
  if (!position.finished) return;
  run.scan.close();
  run.open.clear();
  if (!removeIfEmpty(folder, run.run_id)) done.add(run.run_id);
}

function oldestEnd({ all }: Runs): number | null {
  const ends = all.flatMap(({ uncommitted }) => uncommitted.map(({ ended }) => ended));
  return ends.length === 0 ? null : Date.parse(ends.reduce((least, end) => (end < least ? end : least)));
}
