/**
 * How hard may the engine work? As hard as it can, but while the listeners have their hands full it mostly rests: what has passed is
 * safe in the journal and can wait a moment, a call that passes cannot. On few processors threads take time from each other, whatever
 * their priorities.
 */
import { performance } from 'node:perf_hooks';

const BUSY = { from: 0.7, until: 0.5 }; // share of its time in which the listeners' loop is at work
const LOOK_MS = 100;
const REST = { shares: 19, mostMs: 5_000 }; // of the time worked; never longer than the listeners have been busy by then

/**
 * Watches the calling thread's event loop and tells when it begins and ceases to be busy. Never busy without room for what waits.
 * Returns the way to stop.
 */
export function watchListeners(hasRoom: () => boolean, heard: (busy: boolean) => void): () => void {
  let busy = false;
  let last = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    const is = utilization > (busy ? BUSY.until : BUSY.from) && hasRoom();
    if (is === busy) return;
    busy = is;
    heard(busy);
  }, LOOK_MS).unref();
  return () => clearInterval(timer);
}

export type Pace = {
  /** What the listeners' thread tells. */
  busy(is: boolean): void;
  /** To be awaited after work that took so long: at once, or a rest while the listeners are busy. */
  rest(workedMs: number): Promise<void>;
};

export function openPace(signal: AbortSignal): Pace {
  let busySince: number | null = null;
  const resting = new Set<() => void>();
  const wakeAll = () => {
    for (const wake of resting) wake();
  };
  signal.addEventListener('abort', wakeAll, { once: true });
  return {
    busy: (is) => {
      busySince = is ? (busySince ?? performance.now()) : null;
      if (!is) wakeAll();
    },
    rest: (workedMs) =>
      new Promise((done) => {
        if (busySince === null || signal.aborted) return done();
        const mostMs = Math.min(REST.mostMs, performance.now() - busySince);
        const wake = () => {
          clearTimeout(timer);
          resting.delete(wake);
          done();
        };
        const timer = setTimeout(wake, Math.min(workedMs * REST.shares, mostMs));
        resting.add(wake);
      }),
  };
}
