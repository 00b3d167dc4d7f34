/** The leases by which a backup keeps away what removes turns or slices by itself: those of retention and gc, and one that says that it waits. */
import type { Database } from '../../db/database.ts';
import { openWorkLease, type WorkLease } from '../exclusively.ts';

const ORDER = ['backup', 'retention', 'gc'] as const;
const AGAIN_MS = 5_000;

export type RemovalLease = (typeof ORDER)[number];

export type RemovalLeases = {
  /** @returns the first that others have, behind which none is taken: of several backups one waits for retention and gc; null: all are held */
  take(): Promise<RemovalLease | null>;
  release(): Promise<void>;
};

/** What others have is tried again as long as they are open: the backup that holds it for both may end before this one. */
export function openRemovalLeases(execute: Database['execute']): RemovalLeases {
  const held = new Map<RemovalLease, WorkLease>();
  let taking: Promise<RemovalLease | null> | null = null;

  const takeMissing = async (): Promise<RemovalLease | null> => {
    for (const work of ORDER) {
      if (held.has(work)) continue;
      const lease = await openWorkLease(execute, work);
      if (lease === null) return work;
      held.set(work, lease);
    }
    return null;
  };
  const take = (): Promise<RemovalLease | null> => {
    taking ??= takeMissing().finally(() => {
      taking = null;
    });
    return taking;
  };
  let again: NodeJS.Timeout | null = null;
  return {
    take: () => {
      again ??= setInterval(() => void (held.size < ORDER.length && take().catch(() => null)), AGAIN_MS).unref();
      return take();
    },
    release: async () => {
      if (again) clearInterval(again);
      await taking?.catch(() => null);
      await Promise.allSettled([...held.values()].map((lease) => lease.release())); // one that is not released ends by itself
    },
  };
}
