/** The service's side of the counters that are shown as one: those of the proxy and of processes that have ended come from the parent. */
import type { MetricsSnapshot } from '../../metrics.ts';
import type { Link } from './parent-link.ts';

export type SharedCounters = {
  /** What the other processes have counted; the last known where the parent does not respond in time. */
  others(): Promise<MetricsSnapshot[]>;
  /** Reports what this process has counted, and settles when it is the parent's to remember. */
  shown(own: MetricsSnapshot[]): Promise<void>;
};

/** Of a process that has no parent and no siblings. */
export const noOthers: SharedCounters = { others: async () => [], shown: async () => {} };

const REPLY_MS = 1_000;

export function sharedCounters(link: Link): SharedCounters {
  let nextId = 1;
  let known: MetricsSnapshot[] = [];
  const waiting = new Map<number, () => void>();
  link.receive((message) => {
    if (message.kind !== 'counted') return;
    known = message.snapshots;
    waiting.get(message.id)?.();
  });
  return {
    others: async () => {
      const id = nextId++;
      await new Promise<void>((done) => {
        const timer = setTimeout(done, REPLY_MS);
        waiting.set(id, () => {
          clearTimeout(timer);
          done();
        });
        void link.send({ kind: 'count', id });
      });
      waiting.delete(id);
      return known;
    },
    shown: (own) => link.send({ kind: 'shown', snapshots: own }),
  };
}
