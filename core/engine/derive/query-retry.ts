/** Retries of the derive worker's own queries, until the database answers or the signal is given. */
import { DatabaseError, reasonOf } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import { retry } from '../../retry.ts';

export const RETRY = { firstMs: 100, maxMs: 5_000 }; // while the database does not answer

/** Null at the signal, and after an error that a retry will not change, which is logged. */
export type QueryRetry = <T>(query: () => Promise<T>) => Promise<T | null>;

export const openQueryRetry =
  (log: Logger, signal: AbortSignal): QueryRetry =>
  async (query) => {
    if (signal.aborted) return null;
    const onFailure = (error: unknown) => log.warn({ reason: reasonOf(error) }, 'the database could not be asked');
    try {
      return await retry(query, { ...RETRY, signal, isRetryable: isTransient, onFailure });
    } catch (error) {
      if (!signal.aborted || !isTransient(error)) onFailure(error);
      return null;
    }
  };

export const isTransient = (error: unknown): boolean => error instanceof DatabaseError && error.transient;
