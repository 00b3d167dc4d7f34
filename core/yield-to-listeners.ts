/** How do worker threads keep out of the listeners' way? By a lower priority, so that a call which passes never waits for one taken in. */
import { setPriority } from 'node:os';

/**
 * Lowers the priority of the calling thread. Only where the system keeps one for each thread: elsewhere it would be the whole process's.
 * @param nice 1 to 19; the higher, the later its turn when processors are short
 */
export function yieldToListeners(nice: number): void {
  if (process.platform === 'linux') setPriority(0, nice);
}
