/**
 * Throttles the engine: it works as hard as it can, but while a flood of calls keeps the listeners busy it mostly pauses. What has
 * passed is safe in the journal and can wait, a call that passes cannot. On few processors threads take time from each other, whatever
 * their priorities.
 */
import { performance } from 'node:perf_hooks';

const BUSY = { from: 0.7, until: 0.5 }; // share of its time in which the listeners' loop is at work
const SAMPLE_MS = 100;
const FLOOD = 200; // calls a second; a large response of the read API keeps the loop at work too, and must not delay any turn
const PAUSE = { shares: 49, maxMs: 15_000 }; // a multiple of the time worked; never longer than the listeners have been busy by then

/** `calls`: how many have begun so far. `hasRoom`: whether the journal has room for more of them to wait. */
export type Passing = { calls(): number; hasRoom(): boolean };

/** Watches the calling thread's event loop and notifies when calls begin and cease to keep it busy. Returns the function that stops it. */
export function watchListeners({ calls, hasRoom }: Passing, notify: (busy: boolean) => void): () => void {
  let busy = false;
  const sample = () => ({ loop: performance.eventLoopUtilization(), calls: calls(), at: performance.now() });
  let last = sample();
  const timer = setInterval(() => {
    const now = sample();
    const { utilization } = performance.eventLoopUtilization(now.loop, last.loop);
    const isFlood = now.calls - last.calls >= (FLOOD * (now.at - last.at)) / 1000;
    last = now;
    const nowBusy = isFlood && utilization > (busy ? BUSY.until : BUSY.from) && hasRoom();
    if (nowBusy === busy) return;
    busy = nowBusy;
    notify(busy);
  }, SAMPLE_MS).unref();
  return () => clearInterval(timer);
}

export type EngineThrottle = {
  /** Sets whether the listeners' thread is busy, as it reports. */
  busy(isBusy: boolean): void;
  /** To be awaited after work that took so long: resolves at once, or after a pause while the listeners are busy. */
  pause(workedMs: number): Promise<void>;
};

export function openEngineThrottle(signal: AbortSignal): EngineThrottle {
  let busySince: number | null = null;
  const sleeping = new Set<() => void>();
  const wakeAll = () => {
    for (const wake of sleeping) wake();
  };
  signal.addEventListener('abort', wakeAll, { once: true });
  return {
    busy: (isBusy) => {
      busySince = isBusy ? (busySince ?? performance.now()) : null;
      if (!isBusy) wakeAll();
    },
    pause: (workedMs) =>
      new Promise((done) => {
        if (busySince === null || signal.aborted) return done();
        const maxMs = Math.min(PAUSE.maxMs, performance.now() - busySince);
        const wake = () => {
          clearTimeout(timer);
          sleeping.delete(wake);
          done();
        };
        const timer = setTimeout(wake, Math.min(workedMs * PAUSE.shares, maxMs));
        sleeping.add(wake);
      }),
  };
}
