/** What the processes have counted, as the parent keeps it: the last that each has reported, and the sum of all that have ended. */
import { counterSum } from '../../counter-sums.ts';
import type { MetricsSnapshot } from '../../metrics.ts';
import { awaitedReplies } from './awaited-replies.ts';

export type Counters = {
  /** What the running proxy has counted, asked for now, and what all processes that have ended have. */
  others(): Promise<MetricsSnapshot[]>;
  fromProxy(id: number, snapshot: MetricsSnapshot): void;
  fromService(snapshots: readonly MetricsSnapshot[]): void;
  proxyDied(): void;
  serviceDied(): void;
};

const REPLY_MS = 500;

/** @param request asks the proxy for its counters, under a number */
export function openCounters(request: (id: number) => void): Counters {
  let ended: MetricsSnapshot = [];
  let ofProxy: MetricsSnapshot = [];
  let ofService: MetricsSnapshot = [];
  const replies = awaitedReplies(request, REPLY_MS);
  return {
    others: async () => {
      await replies.request(); // without a reply, what it reported last
      return [ofProxy, ended];
    },
    fromProxy: (id, snapshot) => {
      ofProxy = snapshot;
      replies.came(id);
    },
    fromService: (snapshots) => {
      ofService = snapshots.reduce(counterSum, []);
    },
    proxyDied: () => {
      ended = counterSum(ended, ofProxy);
      ofProxy = [];
    },
    serviceDied: () => {
      ended = counterSum(ended, ofService);
      ofService = [];
    },
  };
}
