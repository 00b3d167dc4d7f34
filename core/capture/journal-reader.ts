/**
 * Reads what the journal holds and the database does not have yet: calls, reassembled in the order in which they ended.
 *
 * Runs are read one after the other: those of dead processes first, oldest first, then the live one. While a call is open only the
 * spans of its bodies are kept, so a body of any size costs no memory before its call has ended.
 *
 * **Exactly once.** Each entry carries the position behind it; the caller stores that of the last entry in the same transaction as
 * the entries. A reader opened with the stored positions reads a run again from its first segment, since a call that is still to come
 * may have begun there, and delivers only what lies behind the position.
 * A call that was open when its run died has no end in any file. Such calls come last, by number, at positions of their own behind all
 * files: segment `END_OF_RUN`, offset = the call's number; `finished` is behind the highest. So they need not come in one read with
 * `finished`, which could be more than memory holds: between any two of them the position says which were taken.
 *
 * Segments are deleted from the front only. One from the middle may hold the end of a call that began before it, and without that
 * end the call would come a second time, as crashed. Where open calls hold too many segments, they are carried forward first.
 */
import { rmdirSync, rmSync } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { setImmediate as immediately } from 'node:timers/promises';
import type { z } from 'zod';
import type { Logger } from '../log.ts';
import { parseJson } from '../parse-json.ts';
import { carry, heldUpTo } from './journal-carry.ts';
import { carriagePath, runFolder, runsIn, type SegmentFile, segmentsIn } from './journal-files.ts';
import {
  CallClosed,
  CallOpened,
  type JournalCall,
  type JournalPosition,
  OutcomeRecord,
  ResponseHead,
} from './journal-format.ts';
import { KIND } from './journal-record.ts';
import {
  bodyBytes,
  bodyOf,
  END_OF_RUN,
  extended,
  firstNeeded,
  isWhole,
  type OpenCall,
  PIECE_BYTES,
  type Run,
} from './journal-run.ts';
import { openScan, type ScannedRecord } from './journal-scan.ts';

const CARRY_RETRY_MS = 30_000; // after the disk has refused

/** `position` is the one behind the entry. A call whose bytes are incomplete has `closed: null`, as has one that was never closed. */
export type JournalEntry = { position: JournalPosition } & (
  | { kind: 'call'; call: JournalCall }
  | { kind: 'counted'; counted: OutcomeRecord }
  | { kind: 'finished' } // the run has no more entries
);

export type JournalReader = {
  /** Sets how far the live run is written. Nothing behind that is read. */
  written(segment: number, byteOffset: number): void;
  /**
   * The next entries, at most so many, and at most so many bytes of bodies unless the first alone has more. Empty: no more for now.
   * One read at a time. Never throws because of a file's content.
   */
  read(limit: { entries: number; bytes: number }): Promise<JournalEntry[]>;
  /** The database has all entries of that run up to this position. */
  committed(position: JournalPosition): void;
  /** When the oldest call ended that was delivered and is not committed yet, in milliseconds since 1970; null: there is none. */
  oldest(): number | null;
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
};

/** @param positions as stored in the database; runs that are not among them have not been read at all */
export function openJournalReader({ folder, liveRunId, positions, log }: Options): JournalReader {
  const stored = new Map(positions.map((position) => [position.run_id, position]));
  const done = new Set<string>(); // finished runs that still have files
  let runIndex = 0; // of the run that is being read; those before it are done

  const removeIfEmpty = (runId: string): boolean => {
    try {
      rmdirSync(runFolder(folder, runId));
      return true;
    } catch {
      return false; // not empty yet
    }
  };

  const openRun = (run_id: string, live: boolean): Run => {
    const open = new Map<number, OpenCall>();
    const onDamage = () => {
      for (const call of open.values()) call.doubtful = true;
    };
    const scan = openScan({ folder, runId: run_id, live, onDamage, log });
    const from = stored.get(run_id) ?? { run_id, segment: 0, byte_offset: 0, finished: false };
    rmSync(carriagePath(folder, run_id), { recursive: true, force: true }); // left by a process that was killed while writing it
    const fresh = { uncommitted: [], highestCall: 0, orphanedEnds: 0, crashed: null, carryAt: 0 };
    return { run_id, live, scan, stored: from, open, ...fresh };
  };

  const dead: string[] = [];
  for (const run of runsIn(folder).filter((run) => run !== liveRunId)) {
    const emptied = removeIfEmpty(run);
    if (stored.get(run)?.finished) done.add(run);
    else if (!emptied || stored.has(run)) dead.push(run);
  }
  const runs = dead.map((run) => openRun(run, false));
  if (liveRunId !== null) runs.push(openRun(liveRunId, true));

  const parsed = <Schema extends z.ZodType>(
    schema: Schema,
    run: Run,
    record: ScannedRecord,
  ): z.infer<Schema> | null => {
    try {
      const { buffer, byteOffset, byteLength } = record.payload;
      return schema.parse(parseJson(Buffer.from(buffer, byteOffset, byteLength).toString('utf8')));
    } catch {
      const position = { run_id: run.run_id, segment: record.segment, byte_offset: record.start };
      log.warn({ ...position, record_kind: record.kind }, 'Cannot understand a journal record: it is not of its kind');
      return null;
    }
  };

  /**
   * Emits a call with its bodies, unless the request was over the limit: such a call is only counted, and its partial body is the
   * largest that there is. Delivered entries keep their segments until they are committed, so the files stay while this waits.
   */
  const emitCall = async (
    run: Run,
    entries: JournalEntry[],
    call: OpenCall,
    closed: CallClosed | null,
    at: JournalPosition,
  ) => {
    run.open.delete(call.number);
    const { opened, answered } = call;
    const ended = closed?.last_byte_at ?? answered?.first_byte_at ?? opened.requested_at; // the last known time of the call
    run.uncommitted.push({ position: at, segment: call.segment, ended });
    const intact = !call.doubtful || (closed !== null && isWhole(call, closed));
    if (intact && closed?.over_limit) {
      const empty = new Uint8Array();
      entries.push({ position: at, kind: 'call', call: { opened, request: empty, answered, response: empty, closed } });
      return;
    }
    const request = await bodyOf(run, call.requestSpans, call.requestBytes);
    const response = await bodyOf(run, call.responseSpans, call.responseBytes);
    const whole = request.whole && response.whole && intact;
    const copy = { opened, request: request.body, answered, response: response.body, closed: whole ? closed : null };
    entries.push({ position: at, kind: 'call', call: copy });
  };

  /** Applies a record that does not end a call. */
  const applyRecord = (run: Run, record: ScannedRecord) => {
    const { kind, segment, call: number } = record;
    run.highestCall = Math.max(run.highestCall, number);
    const call = run.open.get(number);
    if (kind === KIND.opened) {
      const opened = parsed(CallOpened, run, record);
      const empty = {
        answered: null,
        requestSpans: [],
        requestBytes: 0,
        responseSpans: [],
        responseBytes: 0,
        doubtful: false,
      };
      if (opened) run.open.set(number, { number, segment, opened, ...empty });
    } else if (kind === KIND.requestBytes && call) call.requestBytes += extended(call.requestSpans, record);
    else if (kind === KIND.responseBytes && call) call.responseBytes += extended(call.responseSpans, record);
    else if (kind === KIND.responseHead && call) {
      call.answered = parsed(ResponseHead, run, record);
      call.doubtful ||= call.answered === null;
    }
  };

  /** A record of kind `closed` or `counted`. @returns the bytes delivered; null when they do not fit in `room` and stay for the next read */
  const takeEnd = async (
    run: Run,
    record: ScannedRecord,
    entries: JournalEntry[],
    room: number,
  ): Promise<number | null> => {
    const position = { run_id: run.run_id, segment: record.segment, byte_offset: record.end, finished: false };
    const call = run.open.get(record.call);
    if (!isBehind(position, run.stored)) {
      if (record.kind === KIND.closed) run.open.delete(record.call);
      run.scan.advance();
    } else if (record.kind === KIND.counted) {
      const counted = parsed(OutcomeRecord, run, record);
      if (counted) run.uncommitted.push({ position, segment: record.segment, ended: counted.at });
      if (counted) entries.push({ position, kind: 'counted', counted });
      run.scan.advance();
    } else if (!call) {
      run.orphanedEnds++;
      run.scan.advance();
    } else {
      if (entries.length > 0 && bodyBytes(call) > room) return null;
      const closed = parsed(CallClosed, run, record);
      run.scan.advance();
      await emitCall(run, entries, call, closed, position);
      return bodyBytes(call);
    }
    return 0;
  };

  /** The next crashed call of a dead run whose files have been read to their end, or the run's `finished`. @returns as `takeEnd` */
  const takeEndOfRun = async (run: Run, entries: JournalEntry[], room: number): Promise<number | null> => {
    const taken = run.stored.segment === END_OF_RUN ? run.stored.byte_offset : 0;
    run.crashed ??= [...run.open.values()].filter((call) => call.number > taken).sort((a, b) => a.number - b.number);
    const position = {
      run_id: run.run_id,
      segment: END_OF_RUN,
      byte_offset: Math.max(run.highestCall, taken) + 1,
      finished: true,
    };
    const [call] = run.crashed;
    if (!call) {
      entries.push({ position, kind: 'finished' });
      runIndex++;
      return 0;
    }
    if (entries.length > 0 && bodyBytes(call) > room) return null;
    run.crashed.shift();
    await emitCall(run, entries, call, null, { ...position, byte_offset: call.number, finished: false });
    return bodyBytes(call);
  };

  const read = async (limit: { entries: number; bytes: number }): Promise<JournalEntry[]> => {
    const entries: JournalEntry[] = [];
    let room = limit.bytes;
    let scannedBytes = 0;
    for (let run = runs[runIndex]; run && entries.length < limit.entries && room > 0; run = runs[runIndex]) {
      let taken: number | null = 0;
      const record = run.scan.peek();
      if (record) {
        scannedBytes += record.end - record.start;
        if (record.kind === KIND.closed || record.kind === KIND.counted)
          taken = await takeEnd(run, record, entries, room);
        else {
          applyRecord(run, record);
          run.scan.advance();
        }
      } else if (run.scan.unreadable()) runIndex++;
      else if (run.live) break;
      else taken = await takeEndOfRun(run, entries, room);
      if (taken === null) break;
      room -= taken;
      if (scannedBytes >= PIECE_BYTES) {
        scannedBytes = 0;
        await immediately();
      }
    }
    for (const run of runs) {
      if (run.orphanedEnds > 0) {
        log.warn(
          { run_id: run.run_id, calls: run.orphanedEnds },
          'Cannot hand out all calls: their first records are lost',
        );
        run.orphanedEnds = 0;
      }
    }
    return entries;
  };

  const committed = (position: JournalPosition) => {
    const run = runs.find(({ run_id }) => run_id === position.run_id);
    if (!run) return;
    run.uncommitted = position.finished ? [] : run.uncommitted.filter((entry) => isBehind(entry.position, position));
    if (!position.finished) return;
    run.scan.close();
    run.open.clear();
    if (!removeIfEmpty(run.run_id)) done.add(run.run_id);
  };

  const oldest = (): number | null => {
    const ends = runs.flatMap(({ uncommitted }) => uncommitted.map(({ ended }) => ended));
    return ends.length === 0 ? null : Date.parse(ends.reduce((least, end) => (end < least ? end : least)));
  };

  /** All segments of finished runs, and of the other runs those before the first that is needed. */
  const segmentsBefore = (first: (run: Run) => number): SegmentFile[] => [
    ...[...done].flatMap((run) => segmentsIn(folder, run)),
    ...runs.flatMap((run) => {
      if (done.has(run.run_id) || run.scan.unreadable()) return [];
      const needed = first(run);
      return needed > 1 ? segmentsIn(folder, run.run_id).filter((file) => file.segment < needed) : [];
    }),
  ];

  /** Carries forward the open calls of each run with a wanted segment; `failed` gets the runs where the disk refuses. @returns the bytes freed */
  const carryForward = async (wanted: ReadonlySet<string>, failed: Set<string>): Promise<number> => {
    let freed = 0;
    for (const run of runs) {
      const into = heldUpTo(folder, run);
      const last = segmentsIn(folder, run.run_id).find(({ segment, path }) => segment === into && wanted.has(path));
      if (!last) continue;
      try {
        freed += await carry(folder, run, last);
      } catch (error) {
        failed.add(run.run_id);
        run.carryAt = performance.now() + CARRY_RETRY_MS;
        const code = (error as NodeJS.ErrnoException).code;
        log.warn({ run_id: run.run_id, code }, 'Cannot carry open calls forward: their journal segments stay for now');
      }
    }
    return freed;
  };

  const removable = () => segmentsBefore((run) => Math.max(firstNeeded(run), heldUpTo(folder, run) + 1));

  const remove = async (segments: readonly SegmentFile[]): Promise<number> => {
    const wanted = new Set(segments.map((file) => file.path));
    const failed = new Set<string>(); // runs: behind a segment that stayed, all later ones have to stay too
    let freed = await carryForward(wanted, failed);
    for (const file of segmentsBefore(firstNeeded)) {
      if (!wanted.has(file.path) || failed.has(file.run_id)) {
        failed.add(file.run_id);
        continue;
      }
      runs.find((run) => run.run_id === file.run_id)?.scan.release(file.segment);
      try {
        await unlink(file.path);
        freed += file.bytes;
      } catch (error) {
        failed.add(file.run_id);
        const code = (error as NodeJS.ErrnoException).code;
        log.warn(
          { run_id: file.run_id, segment: file.segment, code },
          'Cannot delete a journal segment: the disk refuses',
        );
      }
    }
    for (const run of done) if (removeIfEmpty(run)) done.delete(run);
    return freed;
  };

  return {
    written: (segment, byteOffset) => runs.find((run) => run.live)?.scan.written(segment, byteOffset),
    read,
    committed,
    oldest,
    removable,
    remove,
    close: () => {
      for (const run of runs) run.scan.close();
    },
  };
}

const isBehind = (a: JournalPosition, b: JournalPosition): boolean =>
  a.segment > b.segment || (a.segment === b.segment && a.byte_offset > b.byte_offset);
