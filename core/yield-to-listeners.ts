/** How do threads and processes keep out of the listeners' way? By a lower priority, so that a call which passes never waits for one taken in. */
import { constants, getPriority, setPriority } from 'node:os';

/**
 * Lowers the priority of the calling thread. Only where the system keeps one for each thread: elsewhere it would be the whole process's.
 * @param by 1 to 19; the higher, the later its turn when processors are short
 */
export function yieldToListeners(by: number): void {
  if (process.platform === 'linux') lowerPriority(0, by);
}

/** From what it has: the service may run under `nice` itself, where few may raise it. Without it everything works, so a refusal is none of ours. */
export function lowerPriority(pid: number, by: number): void {
  try {
    setPriority(pid, Math.min(getPriority(pid) + by, constants.priority.PRIORITY_LOW));
  } catch {}
}
