/** What a status of a service shows of calls that have ended: whether they are stored, and whether what is stored is derived. */
import { isObject } from '../../parse-json.ts';

/** All that has passed the proxy is stored and derived. */
export const isSettledStatus = (status: unknown): boolean => isStoredStatus(status, 0) && isDerivedStatus(status, 0);

/** Each call that ended at least so many seconds ago is in the database; what others send meanwhile does not count. */
export function isStoredStatus(status: unknown, seconds: number): boolean {
  if (!isObject(status)) return false;
  const { journal } = status;
  return (
    journal === undefined ||
    (isObject(journal) && (journal.oldest_seconds === 0 || isYounger(journal.oldest_seconds, seconds)))
  );
}

/** What was stored at least so many seconds ago is derived. */
export function isDerivedStatus(status: unknown, seconds: number): boolean {
  if (!isObject(status) || !isObject(status.derive)) return false;
  const { queued, lag_seconds } = status.derive;
  return queued === 0 || isYounger(lag_seconds, seconds);
}

const isYounger = (age: unknown, seconds: number): boolean => typeof age === 'number' && age < seconds;
