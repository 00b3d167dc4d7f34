/** Gives memory back once a thread has nothing to do: V8 collects when it needs room, which an idle thread never does. */
import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { collectAvailable } from './collect-garbage.ts';

/** Of its time a thread that is idle works this share at most. */
const IDLE_UTILIZATION = 0.05;
/** The heap has grown by so much since the last collection, else none is worth its pause. */
const WORTH_BYTES = 8 * 1_048_576;

/** Of this thread. A collection follows `looks` idle intervals of `lookMs` each. @returns a function that ends it */
export function collectWhenIdle({ lookMs = 10_000, looks = 2 } = {}): () => void {
  let before = performance.eventLoopUtilization();
  let idle = 0;
  let left = 0;
  let collecting = false;
  const looking = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    idle = utilization < IDLE_UTILIZATION ? idle + 1 : 0;
    if (collecting || idle < looks || (!hasGarbage && heapBytes() < left + WORTH_BYTES)) return;
    hasGarbage = false;
    collecting = true;
    const collected = () => {
      left = heapBytes();
      before = performance.eventLoopUtilization(); // this was no work
      idle = 0;
      collecting = false;
    };
    collectAvailable().then(collected, collected); // where it is refused, V8 collects when it needs room
  }, lookMs).unref();
  return () => clearInterval(looking);
}

let hasGarbage = false;

/** Says that much of this thread's heap was let go of without any having come: the next idle interval collects it. */
export const leaveGarbage = (): void => {
  hasGarbage = true;
};

/** With what V8 holds and does not use. */
const heapBytes = () => getHeapStatistics().total_heap_size;
