/** The times of an ingested call: what its sender states, without what cannot be right. */

/** Instants of the sender's clock: when the request went out, when the answer was whole, and how long that took. */
type SenderTimes = { ts_request?: unknown; captured_at?: unknown; elapsed_seconds?: unknown };

export type CallTimes = { requested_at: string; last_byte_at: string };

/** Impossible values are ignored. @param now when the call arrived here, for a sender that states no time */
export function timesOf(times: SenderTimes, now: () => string): CallTimes {
  const captured = microsOf(times.captured_at);
  const sent = microsOf(times.ts_request);
  const elapsed = elapsedIn(times.elapsed_seconds);
  const began = captured !== null && elapsed !== null ? within(captured - elapsed) : null;
  const requested = began ?? sent ?? captured;
  if (requested === null) {
    const requested_at = now();
    return { requested_at, last_byte_at: requested_at };
  }
  const ended = captured ?? (elapsed === null ? null : within(requested + elapsed)) ?? requested;
  return { requested_at: instantOf(requested), last_byte_at: instantOf(ended < requested ? requested : ended) };
}

/** An RFC 3339 instant at any offset, in our format; null for what is none, or not of the years 1970 to 9999. */
export const instantIn = (input: unknown): string | null => {
  const micros = microsOf(input);
  return micros === null ? null : instantOf(micros);
};

const SECOND = 1_000_000n;
const LONGEST_SECONDS = 7 * 86_400;
const END = (BigInt(Date.UTC(10_000, 0)) / 1000n) * SECOND;

const within = (micros: bigint): bigint | null => (micros >= 0n && micros < END ? micros : null);

const elapsedIn = (seconds: unknown): bigint | null =>
  typeof seconds === 'number' && seconds > 0 && seconds <= LONGEST_SECONDS ? BigInt(Math.round(seconds * 1e6)) : null;

/** RFC 3339, at any offset; digits beyond microseconds are cut. A leap second counts as the first of the next minute. */
const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/** Microseconds since 1970; null for what is no instant of the years 1970 to 9999. A bigint: a double is too coarse. */
function microsOf(input: unknown): bigint | null {
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
function instantOf(micros: bigint): string {
  const whole = new Date(Number(micros / SECOND) * 1000).toISOString();
  return `${whole.slice(0, 20)}${String(micros % SECOND).padStart(6, '0')}Z`;
}
