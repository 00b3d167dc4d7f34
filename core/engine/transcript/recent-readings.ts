/**
 * What was read of transcripts a moment ago. While an agent works its transcript grows every few seconds, and each time all of it counts
 * once more: what has not changed is neither parsed nor hashed again.
 */
import { LRUCache } from 'lru-cache';
import { leaveGarbage } from '../../collect-when-idle.ts';
import type { KnownTurns } from '../../derive/transcript/turns.ts';
import type { ReadParts } from './read-transcripts.ts';

/** `parts` in use, and the calls that they held. */
export type RecentReading = { parts: ReadParts; turns: KnownTurns };

export type RecentReadings = {
  /** Null: it was not read within a minute; nothing is to be kept, since most are read once. */
  of(session_id: string): RecentReading | null;
  /** Says that a session was read. @param reading what is to be kept of it; null: nothing */
  keep(session_id: string, reading: RecentReading | null): void;
};

/**
 * Of parts as they were sent; for 56 MB of them a service holds some 60 MiB. Enough for several agents at work, or one whose transcript is
 * long: to read 56 MB again for each call takes twice the time of a processor. (`npm run bench -- intake:growing`)
 */
const MOST_BYTES = 96 * 1024 * 1024;
const UNUSED_MS = 60_000;
const MOST_SESSIONS = 1_000;

const NOTHING: RecentReading = { parts: new Map(), turns: new Map() };

export function openRecentReadings(mostBytes = MOST_BYTES, unusedMs = UNUSED_MS): RecentReadings {
  const forUnused = { ttl: unusedMs, ttlAutopurge: true };
  const seen = new LRUCache<string, true>({ max: MOST_SESSIONS, ...forUnused });
  const readings = new LRUCache<string, RecentReading>({
    ...{ maxSize: mostBytes, sizeCalculation: bytesOf, ...forUnused },
    dispose: (_reading, _session_id, reason) => {
      if (reason === 'expire') leaveGarbage();
    },
  });
  return {
    of: (session_id) => (seen.has(session_id) ? (readings.get(session_id) ?? NOTHING) : null),
    keep: (session_id, reading) => {
      seen.set(session_id, true);
      if (reading) readings.set(session_id, reading);
    },
  };
}

const bytesOf = ({ parts }: RecentReading): number => [...parts.values()].reduce((sum, { bytes }) => sum + bytes, 1);

/** Nothing is kept. */
export const noReadings: RecentReadings = { of: () => null, keep: () => {} };
