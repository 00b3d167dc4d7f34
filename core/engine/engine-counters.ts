/** What the engine's threads have counted: what the running one reported last, and the sum of all that have ended. */
import { counterSum } from '../counter-sums.ts';
import type { MetricsSnapshot } from '../metrics.ts';

export type EngineCounters = {
  /** Snapshots to be added up. Where the thread is too busy to reply, or starts anew, what it reported last: no counter falls meanwhile. */
  snapshots(): Promise<MetricsSnapshot[]>;
  /** The thread has ended: the next one counts from zero. */
  died(): void;
};

/** @param request asks the running thread; null: there was no reply in time */
export function openEngineCounters(request: () => Promise<MetricsSnapshot | null>): EngineCounters {
  let running: MetricsSnapshot = [];
  let ended: MetricsSnapshot = [];
  return {
    snapshots: async () => {
      running = (await request()) ?? running;
      return [running, ended];
    },
    died: () => {
      ended = counterSum(ended, running);
      running = [];
    },
  };
}
