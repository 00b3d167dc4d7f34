/** The paths of a journal's files: `<folder>/<run_id>/<number>.seg`. Run ids are UUIDv7, so they sort by time. */
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
