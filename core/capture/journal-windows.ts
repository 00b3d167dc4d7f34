/** The open segment files of a run that is read, a few at a time, and the windows onto them: chunks that are read in one go. */
import { closeSync, openSync, readSync } from 'node:fs';
import type { Logger } from '../log.ts';
import { segmentPath } from './journal-files.ts';

export const WINDOW_BYTES = 524_288;
const OPEN_FILES = 8;

/** The segment is gone: nothing comes of reading it again. */
const GONE: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR', 'EISDIR']);

/** Not of the file but of the process, its machine or its rights: the segment is whole, and is read once that is over. */
const REFUSED: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EACCES', 'EPERM']);

/** A segment that fails so long in every attempt has a bad sector: the journal behind it is not to wait for ever. */
export const DAMAGED_AFTER_MS = 300_000;
const SAME_FAULT_MS = 60_000; // failures further apart than this are two faults

export type SegmentReads = {
  /**
   * Reads the segment from `at` on into `bytes`. @returns how many bytes were read; 0 where the file is gone
   * @throws the disk's error, while a later attempt may succeed: nothing is known then of what the segment holds
   */
  readAt(segment: number, at: number, bytes: Buffer, count: number): number;
  /** Closes the file of a segment that is about to be deleted: the disk frees its space only then. */
  release(segment: number): void;
  close(): void;
};

export type SegmentWindow = { segment: number; start: number; length: number; bytes: Buffer };

/** @param damagedAfterMs how long a segment may fail before it counts as damaged */
export function openSegmentReads(folder: string, runId: string, damagedAfterMs: number, log: Logger): SegmentReads {
  const files = new Map<number, number>();
  const faults = openReadFaults(damagedAfterMs);

  const fileOf = (segment: number): number => {
    const known = files.get(segment);
    if (known !== undefined) return known;
    for (const [oldest, file] of files) {
      if (files.size < OPEN_FILES) break;
      files.delete(oldest);
      closeSync(file);
    }
    const file = openSync(segmentPath(folder, runId, segment), 'r');
    files.set(segment, file);
    return file;
  };

  const release = (segment: number) => {
    const file = files.get(segment);
    files.delete(segment);
    if (file !== undefined) closeSync(file);
  };

  return {
    readAt: (segment, at, bytes, count) => {
      let bytesRead = 0;
      try {
        while (bytesRead < count) {
          const more = readSync(fileOf(segment), bytes, bytesRead, count - bytesRead, at + bytesRead);
          if (more === 0) break;
          bytesRead += more;
        }
        faults.over(segment, at);
        return bytesRead;
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        release(segment); // the next attempt opens it anew
        if (!GONE.has(code) && (REFUSED.has(code) || !faults.lasts(segment, at))) throw error;
        const damaged = 'Cannot read a journal segment for minutes: what it holds from here on is lost';
        if (GONE.has(code)) log.warn({ run_id: runId, segment, code }, 'Cannot read a journal segment');
        else log.error({ run_id: runId, segment, byte_offset: at + bytesRead, code }, damaged);
        return bytesRead;
      }
    },
    release,
    close: () => {
      for (const file of files.values()) closeSync(file);
      files.clear();
    },
  };
}

type ReadFault = { at: number; since: number; last: number };

/** The segments that fail at the moment, and for how long: `lasts` books a failure, `over` a success at the same place. */
function openReadFaults(damagedAfterMs: number) {
  const faults = new Map<number, ReadFault>();
  return {
    lasts: (segment: number, at: number): boolean => {
      const now = performance.now();
      const known = faults.get(segment);
      const since = known && now - known.last < SAME_FAULT_MS ? known.since : now;
      faults.set(segment, { at, since, last: now });
      return now - since >= damagedAfterMs;
    },
    over: (segment: number, at: number): void => {
      if (faults.get(segment)?.at === at) faults.delete(segment);
    },
  };
}

export const emptyWindow = (): SegmentWindow => ({ segment: 0, start: 0, length: 0, bytes: Buffer.alloc(0) });

/** Fills a window from `at` on. @throws the disk's error; the window is empty then */
export function fill(reads: SegmentReads, window: SegmentWindow, segment: number, at: number, count: number): void {
  if (window.bytes.length < count) window.bytes = Buffer.allocUnsafeSlow(Math.max(count, WINDOW_BYTES));
  window.length = 0; // a failed read may have overwritten some of it
  window.length = reads.readAt(segment, at, window.bytes, count);
  window.segment = segment;
  window.start = at;
}

export const covers = (window: SegmentWindow, segment: number, at: number, count: number): boolean =>
  window.segment === segment && at >= window.start && at + count <= window.start + window.length;
