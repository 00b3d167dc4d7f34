/** A backup that has begun, or waits to: what removes turns or slices by itself ends early for it, since it would break the backup. */
import type { Database } from '../../db/database.ts';

export type PendingBackup = {
  /** Aborted with the caller's, or once `check` has found a backup. */
  signal: AbortSignal;
  /** To be called between two steps. */
  check(): Promise<void>;
};

export function openPendingBackup(execute: Database['execute'], signal: AbortSignal): PendingBackup {
  const found = new AbortController();
  return {
    signal: AbortSignal.any([signal, found.signal]),
    check: async () => {
      if (!signal.aborted && (await execute('isWorkLeased', { work: 'backup' }))) found.abort();
    },
  };
}
