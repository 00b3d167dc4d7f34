/** Lowers the priority of threads and processes below the listeners', so that a call that is forwarded never waits for the storing of another. */
import { constants, getPriority, setPriority } from 'node:os';

/**
 * Lowers the priority of the calling thread. Only on Linux, which has one for each thread: elsewhere it would be the whole process's.
 * @param by 1 to 19; the higher, the less processor time when processors are short
 */
export function yieldToListeners(by: number): void {
  if (process.platform === 'linux') lowerPriority(0, by);
}

/** Relative to the current priority: the service may run under `nice`, and few users may raise it. A refusal is ignored, since all works without. */
export function lowerPriority(pid: number, by: number): void {
  try {
    setPriority(pid, Math.min(getPriority(pid) + by, constants.priority.PRIORITY_LOW));
  } catch {}
}
