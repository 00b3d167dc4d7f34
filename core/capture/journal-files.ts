/**
 * The files of a journal: `<folder>/<run_id>/<number>.seg`. Run ids are UUIDv7, so they sort by time.
 *
 * The states of a segment. Only the last one of a live run is growing; a file that is damaged goes the same way, without what is lost.
 *
 * | state | what it means | event | next state | moved by |
 * | --- | --- | --- | --- | --- |
 * | growing | records are appended | it has its size when the next batch comes: synced and closed behind it | complete | journal-tail |
 * | | | the run is closed: synced; where no record was ever appended | complete; deleted | journal-tail |
 * | | | a write fails: cut back to its valid end; where it has none | complete; deleted | journal-tail |
 * | | | the process dies: the torn end is void | complete | the next process's reader |
 * | complete | it has its final end, as the next segment's `continues` states it | the scan has passed its end | read | journal-scan |
 * | read | its calls are open, or delivered and not stored | the database has stored them, and those of all segments before it | removable | journal-calls, intake |
 * | | | open calls hold it and too much before it: it is replaced by a copy of those calls | read, all before it void | journal-carry |
 * | removable | nothing needs it | a checkpoint of the database, then `unlink`, the first segment first | deleted | intake, journal-removal |
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** A segment file as it is on disk. */
export type SegmentFile = { run_id: string; segment: number; path: string; bytes: number };

const RUN = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const SEGMENT = /^(\d{8})\.seg$/;

export const runFolder = (folder: string, runId: string): string => join(folder, runId);

export const segmentPath = (folder: string, runId: string, segment: number): string =>
  join(folder, runId, `${String(segment).padStart(8, '0')}.seg`);

/** The temporary file of a segment that is made out of others; readers ignore it. */
export const carriagePath = (folder: string, runId: string): string => join(folder, runId, 'carriage.tmp');

/** The runs that have a folder, oldest first. */
export const runsIn = (folder: string): string[] =>
  entriesOf(folder)
    .filter((name) => RUN.test(name))
    .sort();

/** A run's segments, in order. */
export const segmentsIn = (folder: string, runId: string): SegmentFile[] =>
  entriesOf(runFolder(folder, runId))
    .flatMap((name) => {
      const segment = Number(SEGMENT.exec(name)?.[1] ?? 0);
      if (segment === 0) return [];
      const path = segmentPath(folder, runId, segment);
      const bytes = statSync(path, { throwIfNoEntry: false })?.size;
      return bytes === undefined ? [] : [{ run_id: runId, segment, path, bytes }];
    })
    .sort((a, b) => a.segment - b.segment);

const entriesOf = (path: string): string[] => {
  try {
    return readdirSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || (error as NodeJS.ErrnoException).code === 'ENOTDIR')
      return [];
    throw error;
  }
};
