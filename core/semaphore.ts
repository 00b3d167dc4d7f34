/** A semaphore: at most so many holders at a time; further ones wait in the order in which they came. */

export type Semaphore = {
  /** @throws the error that `refuse` returns, when too many wait */
  acquire(): Promise<void>;
  release(): void;
};

/** @param limit how many may hold it at once @param maxWaiting how many may wait @param refuse makes the error for further ones */
export function openSemaphore(
  limit: number,
  maxWaiting = Number.POSITIVE_INFINITY,
  refuse: () => Error = () => new Error('Cannot wait: too many do'),
): Semaphore {
  let free = limit;
  const waiting: (() => void)[] = [];
  return {
    async acquire() {
      if (free > 0) {
        free -= 1;
        return;
      }
      if (waiting.length >= maxWaiting) throw refuse();
      await new Promise<void>((resolve) => waiting.push(resolve));
    },
    release() {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    },
  };
}
