/** Whether a status of a service shows that all that has passed its proxy is stored and derived. */
import { isObject } from '../../parse-json.ts';

export function isSettledStatus(status: unknown): boolean {
  if (!isObject(status)) return false;
  const { journal, derive } = status;
  const isStored = journal === undefined || (isObject(journal) && journal.oldest_seconds === 0);
  return isStored && isObject(derive) && derive.queued === 0;
}
