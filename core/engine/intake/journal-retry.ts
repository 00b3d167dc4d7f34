/** Reads of the journal, repeated while the disk or the process refuses them: the segments are whole, and stay until they are read. */
import type { Logger } from '../../log.ts';
import { retry } from '../../retry.ts';

const RETRY = { firstMs: 100, maxMs: 5_000 };

/** An error of a system call, such as EMFILE or EIO. Anything else that reading throws is a bug. */
export const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error;

/**
 * Logs once when reads begin to fail, and once when they succeed again. What lasts on one segment is not waited for without end: the
 * reader counts it as damage (journal-windows.ts).
 * @throws what is no error of a system call, or the last error at the signal
 */
export function openJournalRetry(log: Logger, signal: AbortSignal): <T>(read: () => Promise<T>) => Promise<T> {
  let failing = false;
  return async (read) => {
    const result = await retry(read, {
      ...RETRY,
      signal,
      isRetryable: isSystemError,
      onFailure: (error) => {
        const { code, syscall, path } = error as NodeJS.ErrnoException;
        if (!failing)
          log.error(
            { code, syscall, path },
            'Cannot read the journal: it is tried again, and nothing of it is deleted',
          );
        failing = true;
      },
    });
    if (failing) log.info('The journal can be read again');
    failing = false;
    return result;
  };
}
