/** An option that names a time, for every command that has one. */
import { OperatorError } from '../../errors.ts';
import { plain } from '../units.ts';

const DAY = /^\d{4}-\d\d-\d\d$/;
const DAY_MS = 86_400_000;
/** RFC 3339. What JavaScript parses besides depends on the time zone, and the read API refuses it. */
const STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/i;

/**
 * As a timestamp, which cassettes take too; of a day its first moment in UTC.
 * @param option its flag, and what the command does as the end of 'Cannot …' @throws {OperatorError} 2: it is none
 */
export function instantOf(text: string, { flag, what }: { flag: string; what: string }): string {
  const day = { today: 0, yesterday: 1 }[text];
  const date = day === undefined ? text : new Date(Date.now() - day * DAY_MS).toISOString().slice(0, 10);
  const stamp = DAY.test(date) ? `${date}T00:00:00Z` : date;
  if (STAMP.test(stamp) && !Number.isNaN(Date.parse(stamp))) return stamp;
  throw new OperatorError(
    `Cannot ${what}: ${flag} must be a day such as 2026-07-27, today, yesterday or a timestamp such as 2026-07-27T09:30:00Z, not '${plain(text)}'`,
    2,
  );
}
