/** Timestamps of others, as RFC 3339 has them: one reader, so that all places agree on what is an instant. */

/** An RFC 3339 instant at any offset, in our format; null for what is none, or not of the years 1970 to 9999. */
export const instantIn = (input: unknown): string | null => {
  const micros = microsIn(input);
  return micros === null ? null : instantOf(micros);
};

/** A clock may be wrong, but hardly by more; a session beyond that would be listed before all others for ever. */
const AHEAD_YEARS = 10;

/** The latest instant that a sender may state, to be compared as text. What lies beyond is treated as absent. @param now in our format */
export const latestStated = (now: string): string =>
  `${Math.min(Number(now.slice(0, 4)) + AHEAD_YEARS, 9999)}${now.slice(4)}`;

/** In microseconds. */
const SECOND = 1_000_000n;
const END = (BigInt(Date.UTC(10_000, 0)) / 1000n) * SECOND;

/** null: it is not of the years 1970 to 9999. */
export const within = (micros: bigint): bigint | null => (micros >= 0n && micros < END ? micros : null);

/** RFC 3339, at any offset; digits beyond microseconds are cut. A leap second counts as the first of the next minute. */
const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/** Microseconds since 1970; null for what is no instant of the years 1970 to 9999. A bigint: a double is too coarse. */
export function microsIn(input: unknown): bigint | null {
  const parts = typeof input === 'string' ? RFC_3339.exec(input) : null;
  if (!parts) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.slice(1, 7).map(Number);
  const [offsetHours, offsetMinutes] = [Number(parts[9] ?? 0), Number(parts[10] ?? 0)];
  const isDate = new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day && month >= 1 && month <= 12;
  const isTime = hour <= 23 && minute <= 59 && second <= 60 && offsetHours <= 23 && offsetMinutes <= 59;
  if (year < 1969 || !isDate || !isTime) return null; // 1969 may be 1970 in UTC
  const offset = (offsetHours * 60 + offsetMinutes) * (parts[8] === '-' ? -1 : 1);
  const seconds = BigInt(Date.UTC(year, month - 1, day, hour, minute - offset, second)) / 1000n;
  return within(seconds * SECOND + BigInt((parts[7] ?? '').padEnd(6, '0').slice(0, 6)));
}

/** `2026-11-21T09:30:00.123456Z` */
export function instantOf(micros: bigint): string {
  const whole = new Date(Number(micros / SECOND) * 1000).toISOString();
  return `${whole.slice(0, 20)}${String(micros % SECOND).padStart(6, '0')}Z`;
}
