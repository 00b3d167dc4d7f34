/** Where do a journal's files stand? `<folder>/<run_id>/<number>.seg`; run ids are UUIDv7, so their order is that of time. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** A segment file as it stands on disk. */
export type SegmentFile = { run_id: string; segment: number; path: string; bytes: number };

const RUN = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const SEGMENT = /^(\d{8})\.seg$/;

export const runFolder = (folder: string, runId: string): string => join(folder, runId);

export const segmentPath = (folder: string, runId: string, segment: number): string =>
  join(folder, runId, `${String(segment).padStart(8, '0')}.seg`);

/** Where a segment stands while it is made out of others; it counts for nothing. */
export const carriagePath = (folder: string, runId: string): string => join(folder, runId, 'carriage.tmp');

/** The runs that have a folder, oldest first. */
export const runsIn = (folder: string): string[] =>
  entriesOf(folder)
    .filter((name) => RUN.test(name))
    .sort();

/** A run's segments, in their order. */
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
