/** The lanes of the derive worker: the sessions that are derived at the same time, each under its lease. */
import type { Lease } from '../../db/derive/derive-queue.ts';

const LANES = 4;

export type Lanes = {
  free(): number;
  idle(): boolean;
  /** Whether a session of the background is being derived: one at a time. */
  background(): boolean;
  /** Runs work in a free lane, under the lease of its first session. */
  start(lease: Lease, work: () => Promise<void>): void;
  /** Resolves when what is being derived now has ended. */
  settled(): Promise<void>;
};

/** @param freed called when a lane is free again */
export function openLanes(freed: () => void): Lanes {
  /** By lease: a session marked `from_scratch` while it is derived is leased a second time, and the first run then commits nothing. */
  const active = new Map<string, { background: boolean; ended: Promise<void> }>();
  return {
    free: () => LANES - active.size,
    idle: () => active.size === 0,
    background: () => [...active.values()].some((lane) => lane.background),
    start: (lease, work) => {
      const ended = work().finally(() => {
        active.delete(lease.lease_token);
        freed();
      });
      active.set(lease.lease_token, { background: lease.background, ended });
    },
    settled: async () => {
      await Promise.allSettled([...active.values()].map(({ ended }) => ended));
    },
  };
}
