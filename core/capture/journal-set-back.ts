/** How far a database has gone back behind what was committed to it: a standby that takes over may lack the last commits. */
import { type SegmentFile, segmentsIn } from './journal-files.ts';
import type { JournalPosition } from './journal-format.ts';

/** What a database lacks of one run. `from`, `to`: `<segment>:<bytes>`. */
export type SetBackRun = {
  run_id: string;
  /** Where the database is now. */
  from: string;
  /** What had been committed. */
  to: string;
  /** Of the segments in between that are still there: so much is read again. */
  bytes: number;
  /** Segments in between that are deleted: what they held is lost. null: none. */
  lost: { first: number; last: number } | null;
};

const isBefore = (one: JournalPosition, other: JournalPosition): boolean =>
  one.segment < other.segment || (one.segment === other.segment && one.byte_offset < other.byte_offset);

/** The pairs of positions of which the stored one lies before the committed one. A run that is not stored is at its beginning. */
export function positionsSetBack(
  committed: readonly JournalPosition[],
  stored: readonly JournalPosition[],
): { from: JournalPosition; to: JournalPosition }[] {
  const at = new Map(stored.map((position) => [position.run_id, position]));
  return committed.flatMap((to) => {
    const from = at.get(to.run_id) ?? { run_id: to.run_id, segment: 0, byte_offset: 0, finished: false };
    return isBefore(from, to) ? { from, to } : [];
  });
}

/** @param folder of the journal, as it is now */
export const setBackRuns = (
  folder: string,
  committed: readonly JournalPosition[],
  stored: readonly JournalPosition[],
): SetBackRun[] =>
  positionsSetBack(committed, stored).map(({ from, to }) => {
    const files = segmentsIn(folder, to.run_id);
    const between = files.filter(({ segment }) => segment >= from.segment && segment <= to.segment);
    return {
      ...{ run_id: to.run_id, from: `${from.segment}:${from.byte_offset}`, to: `${to.segment}:${to.byte_offset}` },
      bytes: between.reduce((sum, file) => sum + bytesBetween(file, from, to), 0),
      lost: lostBetween(files, from, to),
    };
  });

function bytesBetween({ segment, bytes }: SegmentFile, from: JournalPosition, to: JournalPosition): number {
  const end = segment === to.segment ? Math.min(bytes, to.byte_offset) : bytes;
  return Math.max(0, segment === from.segment ? end - from.byte_offset : end);
}

/** Segments are deleted from the front, the first of them being 1. */
function lostBetween([oldest]: readonly SegmentFile[], from: JournalPosition, to: JournalPosition): SetBackRun['lost'] {
  const first = Math.max(1, from.segment);
  const last = oldest ? Math.min(oldest.segment - 1, to.segment) : to.segment;
  return last < first ? null : { first, last };
}
