/** The work of a cassette that is under way, so that its end can wait for it. */
import { sleepUntil } from '../../retry.ts';

export type UnderWay = {
  /** @returns the same work */
  track<T>(work: Promise<T>): Promise<T>;
  /** Settles when nothing is under way, or after `graceMs`. */
  drain(graceMs: number): Promise<void>;
};

export function openUnderWay(): UnderWay {
  const underWay = new Set<Promise<unknown>>();
  return {
    track(work) {
      underWay.add(work);
      const done = () => underWay.delete(work);
      work.then(done, done);
      return work;
    },
    async drain(graceMs) {
      const over = new AbortController();
      const drained = async () => {
        while (underWay.size > 0) await Promise.allSettled(underWay);
      };
      await Promise.race([drained(), sleepUntil(over.signal, graceMs)]);
      over.abort();
    },
  };
}
