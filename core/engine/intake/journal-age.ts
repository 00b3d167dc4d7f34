/** The age of the oldest call that has ended and is not in the database, from how far the journal is written, and how far stored. */
import type { JournalReader } from '../../capture/journal-reader.ts';

export type JournalAge = {
  /** The live journal is written up to here; `ended`: what was written now holds the end of a call. `at`: milliseconds since 1970. */
  written(segment: number, byteOffset: number, ended: boolean, at: number): void;
  /** Another run is live from now on: calls of the last one count once the engine has read them. */
  nextRun(): void;
  /** Everything before this position is in the database. `waiting`: since when the oldest call waits that the engine has read; null: none. */
  stored(segment: number, byteOffset: number, waiting: number | null): void;
  /** Since when the oldest call waits, in milliseconds since 1970; null: none waits, or none whose time is known. */
  oldest(): number | null;
};

/** `at`: when the first of the calls ended whose ends are before the position. */
type Mark = { segment: number; byteOffset: number; at: number };

const MAX_MARKS = 1_024;

/**
 * Keeps a mark for each write that ended calls. In a long outage, writes close together share one mark with the first one's time, so
 * that the age may be reported greater than it is by a few thousandths of the outage. Calls of earlier runs count once the engine has
 * read them: before the database is queried, it is unknown which of them it has.
 */
export function openJournalAge(): JournalAge {
  let marks: Mark[] = [];
  let minGapMs = 0; // milliseconds; marks closer together share one
  let engineOldest: number | null = null;
  const add = (mark: Mark) => {
    const last = marks.at(-1);
    if (last && mark.at - last.at < minGapMs) Object.assign(last, { ...mark, at: last.at });
    else marks.push(mark);
  };
  return {
    written: (segment, byteOffset, ended, at) => {
      if (!ended) return;
      add({ segment, byteOffset, at });
      if (marks.length < MAX_MARKS) return;
      const crowded = marks;
      minGapMs = ((crowded.at(-1)?.at ?? 0) - (crowded[0]?.at ?? 0)) / (MAX_MARKS / 2);
      marks = [];
      crowded.forEach(add);
    },
    nextRun: () => {
      marks = [];
      minGapMs = 0;
    },
    stored: (segment, byteOffset, waiting) => {
      const first = marks.findIndex((mark) => isBehind(mark, segment, byteOffset));
      marks.splice(0, first < 0 ? marks.length : first);
      if (marks.length === 0) minGapMs = 0;
      engineOldest = waiting;
    },
    oldest: () => {
      const [mark] = marks;
      if (!mark) return engineOldest;
      return engineOldest === null ? mark.at : Math.min(mark.at, engineOldest);
    },
  };
}

const isBehind = (mark: Mark, segment: number, byteOffset: number) =>
  mark.segment > segment || (mark.segment === segment && mark.byteOffset > byteOffset);

export type JournalOffset = { segment: number; byteOffset: number };
const BEGINNING: JournalOffset = { segment: 0, byteOffset: 0 };

/**
 * The engine's side: a reader that reports how far its live run is stored, and since when the oldest call waits that it has delivered.
 * After an empty read everything written before it counts as stored, including calls that cannot be put together from the files.
 */
export function reportingReader(
  reader: JournalReader,
  firstRunId: string,
  report: (stored: JournalOffset, waiting: number | null) => void,
): JournalReader {
  let liveRunId = firstRunId;
  let written: JournalOffset = BEGINNING;
  let stored = written;
  let reported = '';
  const reportChange = () => {
    const waiting = reader.oldest();
    const current = `${stored.segment} ${stored.byteOffset} ${waiting}`;
    if (current === reported) return;
    reported = current;
    report(stored, waiting);
  };
  return {
    ...reader,
    written: (segment, byteOffset) => {
      written = { segment, byteOffset };
      reader.written(segment, byteOffset);
    },
    nextRun: (runId) => {
      liveRunId = runId;
      written = BEGINNING;
      stored = BEGINNING;
      reader.nextRun(runId);
    },
    read: async (limit) => {
      const [run, before] = [liveRunId, written];
      const entries = await reader.read(limit);
      if (entries.length === 0 && run === liveRunId) stored = before;
      reportChange();
      return entries;
    },
    reopen: (positions) => {
      const setBack = reader.reopen(positions);
      const at = positions.find(({ run_id }) => run_id === liveRunId);
      stored = at ? { segment: at.segment, byteOffset: at.byte_offset } : BEGINNING;
      reportChange();
      return setBack;
    },
    committed: (position) => {
      reader.committed(position);
      if (position.run_id === liveRunId) stored = { segment: position.segment, byteOffset: position.byte_offset };
      reportChange();
    },
  };
}
