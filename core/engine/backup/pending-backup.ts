/** A backup that has begun, or waits to: what removes turns or slices by itself ends early for it, since it would break the backup. */
import type { Database } from '../../db/database.ts';

export type PendingBackup = {
  /** Aborted with the caller's, or once `check` has found a backup. */
  signal: AbortSignal;
  /** To be called between two steps. A database that is away is no backup. */
  check(): Promise<void>;
};

export function openPendingBackup(execute: Database['execute'], signal: AbortSignal): PendingBackup {
  const found = new AbortController();
  return {
    signal: AbortSignal.any([signal, found.signal]),
    check: async () => {
      if (signal.aborted) return;
      // a failed check is no backup: the next step fails too, and reports why
      const isLeased = await execute('isWorkLeased', { work: 'backup' }).catch(() => false);
      if (isLeased) found.abort();
    },
  };
}
