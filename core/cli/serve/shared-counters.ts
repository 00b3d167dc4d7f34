/** The service's side of the counters that are shown as one: those of the proxy and of processes that have ended come from the parent. */
import type { MetricsSnapshot } from '../../metrics.ts';
import { awaitedReplies } from './awaited-replies.ts';
import type { ParentLink } from './parent-link.ts';

export type SharedCounters = {
  /** What the other processes have counted; the last known where the parent does not respond in time. */
  others(): Promise<MetricsSnapshot[]>;
  /** Reports what this process has counted, and settles when it is the parent's to remember. */
  shown(own: MetricsSnapshot[]): Promise<void>;
};

/** Of a process that has no parent and no siblings. */
export const noOthers: SharedCounters = { others: async () => [], shown: async () => {} };

const REPLY_MS = 1_000;

export function sharedCounters(link: ParentLink): SharedCounters {
  let known: MetricsSnapshot[] = [];
  const replies = awaitedReplies((id) => void link.send({ kind: 'count', id }), REPLY_MS);
  link.receive((message) => {
    if (message.kind !== 'counted') return;
    known = message.snapshots;
    replies.came(message.id);
  });
  return {
    others: async () => {
      await replies.request();
      return known;
    },
    shown: (own) => link.send({ kind: 'shown', snapshots: own }),
  };
}
