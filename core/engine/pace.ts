/**
 * How hard may the engine work? As hard as it can, but while a flood of calls keeps the listeners' hands full it mostly rests: what has
 * passed is safe in the journal and can wait, a call that passes cannot. On few processors threads take time from each other, whatever
 * their priorities.
 */
import { performance } from 'node:perf_hooks';

const BUSY = { from: 0.7, until: 0.5 }; // share of its time in which the listeners' loop is at work
const LOOK_MS = 100;
const FLOOD = 200; // calls a second; a large answer of the read API keeps the loop at work too, and no turn is to wait for that
const REST = { shares: 49, mostMs: 15_000 }; // of the time worked; never longer than the listeners have been busy by then

/** `calls`: how many have begun to pass by now. `hasRoom`: whether more of them may wait. */
export type Passing = { calls(): number; hasRoom(): boolean };

/** Watches the calling thread's event loop and tells when calls begin and cease to keep it busy. Returns the way to stop. */
export function watchListeners({ calls, hasRoom }: Passing, heard: (busy: boolean) => void): () => void {
  let busy = false;
  const look = () => ({ loop: performance.eventLoopUtilization(), calls: calls(), at: performance.now() });
  let last = look();
  const timer = setInterval(() => {
    const now = look();
    const { utilization } = performance.eventLoopUtilization(now.loop, last.loop);
    const isFlood = now.calls - last.calls >= (FLOOD * (now.at - last.at)) / 1000;
    last = now;
    const is = isFlood && utilization > (busy ? BUSY.until : BUSY.from) && hasRoom();
    if (is === busy) return;
    busy = is;
    heard(busy);
  }, LOOK_MS).unref();
  return () => clearInterval(timer);
}

export type EnginePace = {
  /** What the listeners' thread tells. */
  busy(is: boolean): void;
  /** To be awaited after work that took so long: at once, or a rest while the listeners are busy. */
  rest(workedMs: number): Promise<void>;
};

export function openPace(signal: AbortSignal): EnginePace {
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
