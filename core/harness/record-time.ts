/** The time at which a record of a transcript was written: its `timestamp`, if that is plausible. */
import { instantOf, microsIn } from '../model/rfc-3339.ts';
import { fields } from '../provider/json.ts';

const DAY = 86_400_000;

/**
 * UTC with microseconds; null for what is no instant after 1970 and before a day past `received_at`: nothing is recorded before it
 * happens, but clocks differ.
 */
export function recordTime(record: unknown, received_at: string): string | null {
  const micros = microsIn(fields(record).timestamp);
  return micros !== null && micros / 1_000_000n <= Math.floor(latest(received_at) / 1_000) ? instantOf(micros) : null;
}

const END = Date.UTC(10_000, 0);

const latest = (received_at: string): number => {
  const ms = Date.parse(received_at);
  return Number.isNaN(ms) ? END - 1 : Math.min(ms + DAY, END - 1);
};

/** The instant one microsecond later. */
export function justAfter(instant: string): string {
  const micros = Number(instant.slice(20, 26)) + 1;
  if (micros < 1_000_000) return `${instant.slice(0, 20)}${String(micros).padStart(6, '0')}Z`;
  const next = new Date(Date.parse(`${instant.slice(0, 19)}Z`) + 1000).toISOString();
  return `${next.slice(0, 20)}000000Z`;
}
