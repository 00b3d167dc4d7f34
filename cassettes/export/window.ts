/** The window of time of an export, and the name of its file: at most the last 30 days, to the microsecond, in UTC. */

/** Microseconds since 1970, which is the precision of turns. `until: null` is an open end. */
export type Window = { since: bigint; until: bigint | null };

export type Detail = 'spans' | 'traces';

const STAMP =
  /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.(\d{1,18}))?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))$/i;
const MINUTE_MS = 60_000;
const WINDOW_MS = 30 * 24 * 60 * MINUTE_MS;
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** The first whole microsecond at or after an RFC 3339 timestamp; null: the text is no such timestamp. */
export function instantOf(stamp: string): bigint | null {
  const [, date = '', hour, minute, second, fraction = '', sign, hours, minutes] = STAMP.exec(stamp) ?? [];
  const day = Date.parse(`${date}T00:00:00Z`);
  if (date === '' || Number.isNaN(day) || new Date(day).toISOString().slice(0, 10) !== date) return null; // no such day
  const offset = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * (sign === '-' ? -1 : 1);
  const whole = Date.parse(`${date}T${hour}:${minute}:00Z`) + Number(second) * 1000 - offset * MINUTE_MS;
  const digits = fraction.padEnd(6, '0');
  const more = /[1-9]/.test(digits.slice(6)) ? 1n : 0n;
  return BigInt(whole) * 1000n + BigInt(digits.slice(0, 6)) + more;
}

/** A `since` that is missing, or more than 30 days ago, becomes 30 days ago. @param now milliseconds since 1970 */
export function windowOf({ since, until }: { since: bigint | null; until: bigint | null }, now: number): Window {
  const earliest = BigInt(now - WINDOW_MS) * 1000n;
  return { since: since === null || since < earliest ? earliest : since, until };
}

export const isEmpty = ({ since, until }: Window): boolean => until !== null && until <= since;

/** The instant as PostgreSQL reads it; beyond the year 9999 it is `infinity`. */
export function stampOf(microseconds: bigint | null): string {
  if (microseconds === null) return 'infinity';
  const ms = microsecondsToMs(microseconds);
  if (ms > LAST_MS) return 'infinity';
  const rest = String(microseconds - BigInt(ms) * 1000n).padStart(3, '0');
  return new Date(ms).toISOString().replace('Z', `${rest}Z`);
}

/**
 * No name ends before it begins: that of a window whose end is before its begin has the date of the end twice.
 * @param isExplicit whether since or until was given @param now milliseconds since 1970; an open end is its date
 */
export function windowFilename({ since, until }: Window, isExplicit: boolean, detail: Detail, now: number): string {
  const begin = microsecondsToMs(since);
  const end = until === null ? Math.max(now, begin) : microsecondsToMs(until);
  const span = isExplicit ? `${dateOf(Math.min(begin, end))}-to-${dateOf(end)}` : `last-30-days-${dateOf(now)}`;
  return `sessions-${span}${suffixOf(detail)}.jsonl`;
}

export const sessionFilename = (id: string, detail: Detail, now: number): string =>
  `session-${id}-${dateOf(now)}${suffixOf(detail)}.jsonl`;

const suffixOf = (detail: Detail) => (detail === 'traces' ? '-traces' : '');
const microsecondsToMs = (microseconds: bigint) =>
  Number((microseconds - (((microseconds % 1000n) + 1000n) % 1000n)) / 1000n);
const dateOf = (ms: number) => new Date(Math.min(ms, LAST_MS)).toISOString().slice(0, 10);
