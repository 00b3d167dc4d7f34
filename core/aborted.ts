/** Ends a wait when its signal aborts, although what is waited for does not listen to the signal. */

/** Rejects when the signal aborts, with its reason; for `Promise.race`. */
export const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
