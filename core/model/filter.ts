/** The filters of lists and sums: attributes that must be equal, and the bounds of a window of time. */
import { z } from '@hono/zod-openapi';

/** Equality with an attribute of the messages; an empty parameter is an absent one. */
export const Attribute = z
  .string()
  .optional()
  .transform((value) => value || null);

const STAMP =
  /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.(\d{1,9}))?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))$/i;

const DAY = /^\d{4}-\d\d-\d\d$/;
const DAYS_AGO: Readonly<Record<string, number>> = { today: 0, yesterday: 1 };

/** What a bound of a window may be, where "+" is not decoded to a blank. */
export const BOUND =
  'must be an RFC 3339 timestamp such as 2026-07-27T09:30:00Z or 2026-07-27T11:30:00+02:00, a day in UTC such as 2026-07-27, today or yesterday';
const BOUND_IN_ADDRESS = BOUND.replace('+02:00', '%2B02:00 ("+" written as %2B)');

/** One bound of a window, as `instantAfter` returns it; null: open. A day is its first moment in UTC. @param now milliseconds since 1970 */
export const boundAt = (now: () => number) =>
  z
    .string()
    .optional()
    .transform((stamp, context) => {
      if (stamp === undefined) return null;
      const instant = instantAfter(momentOf(stamp, now));
      if (instant !== null) return instant;
      context.addIssue(BOUND_IN_ADDRESS);
      return z.NEVER;
    });
export const Bound = boundAt(Date.now);

/** A day as its first moment; anything else as it is. */
function momentOf(stamp: string, now: () => number): string {
  const ago = Object.hasOwn(DAYS_AGO, stamp) ? DAYS_AGO[stamp] : undefined;
  const day = ago === undefined ? stamp : new Date(now() - ago * DAY_MS).toISOString().slice(0, 10);
  return DAY.test(day) ? `${day}T00:00:00Z` : stamp;
}
const DAY_MS = 86_400_000;

/** The schema of such a parameter, for the contract. */
export const boundSchema = (description: string) => ({
  type: 'string' as const,
  anyOf: [
    { type: 'string' as const, format: 'date-time' },
    { type: 'string' as const, format: 'date' },
    { enum: Object.keys(DAYS_AGO) },
  ],
  description: `${description}; RFC 3339, a day, today or yesterday (UTC, from its first moment on)`,
});

const MINUTE_MS = 60_000;
const FIRST_MS = Date.parse('0001-01-01T00:00:00Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * The first whole microsecond at or after a timestamp, in UTC; null when it is none. Messages have whole microseconds:
 * those before the timestamp are those before this. Outside the years 1 to 9999 it is PostgreSQL's ±infinity.
 */
function instantAfter(stamp: string): string | null {
  const [, date = '', hour, minute, second, fraction = '', sign, hours, minutes] = STAMP.exec(stamp) ?? [];
  if (!z.iso.date().safeParse(date).success) return null; // no such day
  const offset = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * (sign === '-' ? -1 : 1);
  const nanoseconds = Number(fraction.padEnd(9, '0'));
  const microseconds = Math.ceil(nanoseconds / 1000);
  const whole = Date.parse(`${date}T${hour}:${minute}:00Z`) + Number(second) * 1000 - offset * MINUTE_MS;
  const ms = whole + Math.floor(microseconds / 1000);
  if (ms < FIRST_MS) return '-infinity';
  if (ms > LAST_MS) return 'infinity';
  return new Date(ms).toISOString().replace('Z', `${String(microseconds % 1000).padStart(3, '0')}Z`);
}
