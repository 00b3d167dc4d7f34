/** When is it over whatever is being waited for? When its signal says so: what is waited for need not listen to it. */

/** Rejects when the signal aborts, with its reason; for `Promise.race`. */
export const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
