/** How fast the record grows: an estimate from what a request took so far and how many came lately. */
import type { Counts } from './outcome-sentences.ts';

export type CoverageDay = { day: string; outcomes: Counts };

export type Growth = { bytesPerDay: number; days: number };

const LATELY = 7;
const DAY_MS = 86_400_000;

const stored = ({ captured, partial }: Counts) => captured + partial;

/**
 * Null where nothing is known yet.
 * @param byDay days on which something came in, the newest first
 * @param rawTurns all that are stored @param bytes what they take on disk @param now milliseconds since 1970
 */
export function growthOf(byDay: readonly CoverageDay[], rawTurns: number, bytes: number, now: number): Growth | null {
  const first = byDay.at(-1);
  if (first === undefined || rawTurns === 0) return null;
  const age = Math.floor((now - Date.parse(`${first.day}T00:00:00Z`)) / DAY_MS) + 1;
  const days = Math.max(1, Math.min(LATELY, age));
  const since = new Date(now - (days - 1) * DAY_MS).toISOString().slice(0, 10);
  const turns = byDay.filter(({ day }) => day >= since).reduce((sum, { outcomes }) => sum + stored(outcomes), 0);
  return { bytesPerDay: (turns / days) * (bytes / rawTurns), days };
}

/** Days until the disk is full; null: at this pace never. */
export const daysLeft = ({ bytesPerDay }: Growth, freeBytes: number): number | null =>
  bytesPerDay <= 0 ? null : Math.floor(freeBytes / bytesPerDay);
