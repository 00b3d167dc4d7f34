/** When what is read of a growing session may be read again: how long that takes decides, so that reads have a fifth of the time at most. */

const AT_LEAST_MS = 3_000;

/** Resolves then. @param began when the last read did, as `performance.now()` */
export const mayReadAgain = (began: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.max(AT_LEAST_MS, 4 * (performance.now() - began))));
