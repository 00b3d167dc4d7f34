/** Yields the thread now and then during long work, so that other work that waits for the thread runs. */
import { setImmediate as immediately } from 'node:timers/promises';

const WORK_MS = 1; // whoever stores something meanwhile waits so long at each of a dozen statements

/** Returns the function to be awaited between the steps of the work. */
export function openYielder(): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < WORK_MS) return;
    await immediately();
    since = performance.now();
  };
}
