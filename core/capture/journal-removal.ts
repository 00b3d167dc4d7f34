/**
 * The deletion of a journal's segments, once nothing needs them any more.
 *
 * Segments are deleted from the front only. One from the middle may hold the end of a call that began before it, and without that
 * end the call would come a second time, as crashed. Where open calls hold too many segments, they are carried forward first.
 */
import { rmdirSync } from 'node:fs';
import { unlink } from 'node:fs/promises';
import type { Logger } from '../log.ts';
import { carry, heldUpTo } from './journal-carry.ts';
import { runFolder, type SegmentFile, segmentsIn } from './journal-files.ts';
import { firstNeeded, type JournalRun } from './journal-run.ts';

const CARRY_RETRY_MS = 30_000; // after the disk has refused

/** The runs of a journal while it is read: dead ones first, the oldest first, then the live one. */
export type Runs = {
  folder: string;
  all: JournalRun[];
  done: Set<string>; // finished runs that still have files
  log: Logger;
};

/** @returns false when the run's folder holds a file */
export function removeIfEmpty(folder: string, runId: string): boolean {
  try {
    rmdirSync(runFolder(folder, runId));
    return true;
  } catch {
    return false;
  }
}

export const removableSegments = (runs: Runs): SegmentFile[] =>
  segmentsBefore(runs, (run) => Math.max(firstNeeded(run), heldUpTo(runs.folder, run) + 1));

/** @param segments as `removableSegments` returned them @returns the bytes freed */
export async function removeSegments(runs: Runs, segments: readonly SegmentFile[]): Promise<number> {
  const wanted = new Set(segments.map((file) => file.path));
  const failed = new Set<string>(); // runs: behind a segment that stayed, all later ones have to stay too
  let freed = await carryForward(runs, wanted, failed);
  for (const file of segmentsBefore(runs, firstNeeded)) {
    if (wanted.has(file.path) && !failed.has(file.run_id) && (await removeSegment(runs, file))) freed += file.bytes;
    else failed.add(file.run_id);
  }
  for (const run of runs.done) if (removeIfEmpty(runs.folder, run)) runs.done.delete(run);
  return freed;
}

/** @returns false when the disk refuses */
async function removeSegment({ all, log }: Runs, { run_id, segment, path }: SegmentFile): Promise<boolean> {
  all.find((run) => run.run_id === run_id)?.scan.release(segment);
  try {
    await unlink(path);
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    log.warn({ run_id, segment, code }, 'Cannot delete a journal segment: the disk refuses');
    return false;
  }
}

/** All segments of finished runs, and of the other runs those before the first that is needed. */
const segmentsBefore = ({ folder, all, done }: Runs, first: (run: JournalRun) => number): SegmentFile[] => [
  ...[...done].flatMap((run) => segmentsIn(folder, run)),
  ...all.flatMap((run) => {
    if (done.has(run.run_id) || run.scan.unreadable()) return [];
    const needed = first(run);
    return needed > 1 ? segmentsIn(folder, run.run_id).filter((file) => file.segment < needed) : [];
  }),
];

/** Carries forward the open calls of each run with a wanted segment; `failed` gets the runs where the disk refuses. @returns the bytes freed */
async function carryForward(
  { folder, all, log }: Runs,
  wanted: ReadonlySet<string>,
  failed: Set<string>,
): Promise<number> {
  let freed = 0;
  for (const run of all) {
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
}
