/** The open segment files of a run that is read, a few at a time, and the windows onto them: chunks that are read in one go. */
import { closeSync, openSync, readSync } from 'node:fs';
import type { Logger } from '../log.ts';
import { segmentPath } from './journal-files.ts';

export const WINDOW_BYTES = 524_288;
const OPEN_FILES = 8;

export type SegmentReads = {
  /** Reads the segment from `at` on into `bytes`. @returns how many bytes were read; 0 where the file is gone */
  readAt(segment: number, at: number, bytes: Buffer, count: number): number;
  /** Closes the file of a segment that is about to be deleted: the disk frees its space only then. */
  release(segment: number): void;
  close(): void;
};

export type SegmentWindow = { segment: number; start: number; length: number; bytes: Buffer };

export function openSegmentReads(folder: string, runId: string, log: Logger): SegmentReads {
  const files = new Map<number, number>();

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

  return {
    readAt: (segment, at, bytes, count) => {
      try {
        let bytesRead = 0;
        while (bytesRead < count) {
          const more = readSync(fileOf(segment), bytes, bytesRead, count - bytesRead, at + bytesRead);
          if (more === 0) break;
          bytesRead += more;
        }
        return bytesRead;
      } catch (error) {
        log.warn(
          { run_id: runId, segment, code: (error as NodeJS.ErrnoException).code },
          'Cannot read a journal segment',
        );
        return 0;
      }
    },
    release: (segment) => {
      const file = files.get(segment);
      if (file !== undefined) closeSync(file);
      files.delete(segment);
    },
    close: () => {
      for (const file of files.values()) closeSync(file);
      files.clear();
    },
  };
}

export const emptyWindow = (): SegmentWindow => ({ segment: 0, start: 0, length: 0, bytes: Buffer.alloc(0) });

/** Fills a window from `at` on. */
export function fill(reads: SegmentReads, window: SegmentWindow, segment: number, at: number, count: number): void {
  if (window.bytes.length < count) window.bytes = Buffer.allocUnsafeSlow(Math.max(count, WINDOW_BYTES));
  window.length = reads.readAt(segment, at, window.bytes, count);
  window.segment = segment;
  window.start = at;
}

export const covers = (window: SegmentWindow, segment: number, at: number, count: number): boolean =>
  window.segment === segment && at >= window.start && at + count <= window.start + window.length;
