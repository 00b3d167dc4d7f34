/** The lanes of the derive worker: the sessions that are derived at the same time, each under its lease. */
import type { Database } from '../../db/database.ts';
import type { Lease } from '../../db/derive/derive-queue.ts';

const LANES = 4;

/**
 * The most sessions at once of those that had to wait for a lane of their own. They leave one to what comes in. On the embedded database such
 * a session waits for the commits of the others before each of its reads: with three it is idle for a quarter of the time.
 */
const WAITED = { embedded: 7, server: LANES - 1 };

export type Lanes = {
  /** For what is due. */
  free(): number;
  /** For sessions that waited for a lane of their own. */
  freeForWaiting(): number;
  idle(): boolean;
  /** Whether a session of the background is being derived: one at a time. */
  background(): boolean;
  /** Runs work in a free lane, under the lease of its first session. @param waited it has waited for a lane of its own */
  start(lease: Lease, work: () => Promise<void>, waited?: boolean): void;
  /** Resolves when what is being derived now has ended. */
  settled(): Promise<void>;
};

/** @param freed called when a lane is free again */
export function openLanes(kind: Database['kind'], freed: () => void): Lanes {
  /** By lease: a session marked `from_scratch` while it is derived is leased a second time, and the first run then commits nothing. */
  const active = new Map<string, { background: boolean; waited: boolean; ended: Promise<void> }>();
  const waitedCount = () => [...active.values()].filter(({ waited }) => waited).length;
  return {
    free: () => LANES - (active.size - waitedCount()) - Math.min(waitedCount(), LANES - 1),
    freeForWaiting: () => WAITED[kind] - active.size,
    idle: () => active.size === 0,
    background: () => [...active.values()].some((lane) => lane.background),
    start: (lease, work, waited = false) => {
      const ended = work().finally(() => {
        active.delete(lease.lease_token);
        freed();
      });
      active.set(lease.lease_token, { background: lease.background, waited, ended });
    },
    settled: async () => {
      await Promise.allSettled([...active.values()].map(({ ended }) => ended));
    },
  };
}
