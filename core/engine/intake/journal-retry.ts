/** Reads of the journal, repeated while the disk or the process refuses them: the segments are whole, and stay until they are read. */
import type { Logger } from '../../log.ts';
import { retry } from '../../retry.ts';

const RETRY = { firstMs: 100, maxMs: 5_000 };

/** An error of a system call, such as EMFILE or EIO. Anything else that reading throws is a bug. */
export const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error;

/** Refused to this process for as long as nobody changes that: unlike other faults, it is never over by itself. */
const NO_RIGHTS: ReadonlySet<unknown> = new Set(['EACCES', 'EPERM']);
const RIGHTS = 'give the user that svc runs as the right to read it, and to enter the folders above it';

/**
 * Logs once when reads begin to fail, or fail in another way, and once when they succeed again. What lasts on one segment is not waited
 * for without end: the reader counts it as damage (journal-windows.ts).
 * @param changed gets the code of the error, such as EACCES, each time that it is logged, and null when reads succeed again
 * @throws what is no error of a system call, or the last error at the signal
 */
export function openJournalRetry(
  log: Logger,
  signal: AbortSignal,
  changed: (code: string | null) => void = () => {},
): <T>(read: () => Promise<T>) => Promise<T> {
  let failing: string | null = null; // its code
  return async (read) => {
    const result = await retry(read, {
      ...RETRY,
      signal,
      isRetryable: isSystemError,
      onFailure: (error) => {
        const { code = 'an error', syscall, path } = error as NodeJS.ErrnoException;
        if (failing === code) return;
        failing = code;
        log.error(
          { code, syscall, path, ...(NO_RIGHTS.has(code) && { remedy: RIGHTS }) },
          'Cannot read the journal: it is tried again, and nothing of it is deleted',
        );
        changed(code);
      },
    });
    if (failing) {
      log.info('The journal can be read again');
      changed(null);
    }
    failing = null;
    return result;
  };
}
