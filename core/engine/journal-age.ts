/** Since when has the oldest call waited that has ended and is not in the database? Told by how far the journal is written, and how far stored. */
import type { JournalReader } from '../capture/journal-reader.ts';

export type JournalAge = {
  /** The live journal was written up to here; `ended`: what was written now holds the end of a call. `at`: milliseconds since 1970. */
  written(segment: number, byteOffset: number, ended: boolean, at: number): void;
  /** All that stands before this place is in the database. `waiting`: since when calls wait that the engine has in hand; null: it has none. */
  stored(segment: number, byteOffset: number, waiting: number | null): void;
  /** Milliseconds since 1970; null: nothing waits, or none of which can be told. */
  oldest(): number | null;
};

/** `at`: when the first of the calls ended whose ends stand before the place. */
type Mark = { segment: number; byteOffset: number; at: number };

const MOST_MARKS = 1_024;

/**
 * A mark for each write that ended calls; in a long outage one for all that came close together, under the first one's time, so that an
 * age may be told greater than it is by a few thousandths of the outage. Calls of earlier runs count from when the engine has them
 * in hand: before the database is asked nobody knows which of them it has.
 */
export function openJournalAge(): JournalAge {
  let marks: Mark[] = [];
  let apart = 0; // milliseconds between two marks
  let inHand: number | null = null;
  const add = (mark: Mark) => {
    const last = marks.at(-1);
    if (last && mark.at - last.at < apart) Object.assign(last, { ...mark, at: last.at });
    else marks.push(mark);
  };
  return {
    written: (segment, byteOffset, ended, at) => {
      if (!ended) return;
      add({ segment, byteOffset, at });
      if (marks.length < MOST_MARKS) return;
      const close = marks;
      apart = ((close.at(-1)?.at ?? 0) - (close[0]?.at ?? 0)) / (MOST_MARKS / 2);
      marks = [];
      close.forEach(add);
    },
    stored: (segment, byteOffset, waiting) => {
      const first = marks.findIndex((mark) => isBehind(mark, segment, byteOffset));
      marks.splice(0, first < 0 ? marks.length : first);
      if (marks.length === 0) apart = 0;
      inHand = waiting;
    },
    oldest: () => {
      const [mark] = marks;
      if (!mark) return inHand;
      return inHand === null ? mark.at : Math.min(mark.at, inHand);
    },
  };
}

const isBehind = (mark: Mark, segment: number, byteOffset: number) =>
  mark.segment > segment || (mark.segment === segment && mark.byteOffset > byteOffset);

export type JournalOffset = { segment: number; byteOffset: number };

/**
 * The engine's side: a reader that tells how far its live run is stored, and since when the oldest call waits that it has handed out.
 * An empty read says that all is stored which was written before it, calls that cannot be made out of the files among it.
 */
export function reportingReader(
  reader: JournalReader,
  liveRunId: string,
  tell: (stored: JournalOffset, waiting: number | null) => void,
): JournalReader {
  let written: JournalOffset = { segment: 0, byteOffset: 0 };
  let stored = written;
  let told = '';
  const tellNews = () => {
    const waiting = reader.oldest();
    const news = `${stored.segment} ${stored.byteOffset} ${waiting}`;
    if (news === told) return;
    told = news;
    tell(stored, waiting);
  };
  return {
    ...reader,
    written: (segment, byteOffset) => {
      written = { segment, byteOffset };
      reader.written(segment, byteOffset);
    },
    read: async (limit) => {
      const before = written;
      const entries = await reader.read(limit);
      if (entries.length === 0) stored = before;
      tellNews();
      return entries;
    },
    committed: (position) => {
      reader.committed(position);
      if (position.run_id === liveRunId) stored = { segment: position.segment, byteOffset: position.byte_offset };
      tellNews();
    },
  };
}
