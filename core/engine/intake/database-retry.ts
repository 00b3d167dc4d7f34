/** Retries of what intake stores, for as long as that may help: the journal holds the calls meanwhile. */
import { JOURNAL_SET_BACK } from '../../db/store/journal-positions.ts';
import { DatabaseError, reasonOf } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import { retry } from '../../retry.ts';

const RETRY = { firstMs: 100, maxMs: 5_000 };

/** @throws an error that a retry cannot help, or the last one at the signal */
export type DatabaseRetry = <T>(work: () => Promise<T>, isRetryable?: (error: unknown) => boolean) => Promise<T>;

/** Logs once when the database begins to fail, and once when it answers again. */
export function openDatabaseRetry(log: Logger, signal: AbortSignal): DatabaseRetry {
  let failing = false;
  return async (work, isRetryable = isTransient) => {
    const result = await retry(work, {
      ...RETRY,
      signal,
      isRetryable,
      onFailure: (error) => {
        if (!failing)
          log.warn(
            { reason: reasonOf(error) },
            'Cannot store turns: the database does not take them; they wait in the journal',
          );
        failing = true;
      },
    });
    if (failing) log.info('The database answers again: the journal is being taken in');
    failing = false;
    return result;
  };
}

/** The database has lost commits: the journal is to be read again from where it is now. */
export const isSetBack = (error: unknown): boolean =>
  error instanceof DatabaseError && error.sqlstate === JOURNAL_SET_BACK;

export const isTransient = (error: unknown): boolean => error instanceof DatabaseError && error.transient;
