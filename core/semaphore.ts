/** A semaphore: so many holders at a time, and those after them wait in the order in which they came. */

export type Semaphore = {
  /** @throws what `refuse` gives, when too many wait */
  acquire(): Promise<void>;
  release(): void;
};

/** @param most how many may wait @param refuse what the one after them is given */
export function openSemaphore(
  atOnce: number,
  most = Number.POSITIVE_INFINITY,
  refuse: () => Error = () => new Error('Cannot wait: too many do'),
): Semaphore {
  let free = atOnce;
  const waiting: (() => void)[] = [];
  return {
    async acquire() {
      if (free > 0) {
        free -= 1;
        return;
      }
      if (waiting.length >= most) throw refuse();
      await new Promise<void>((resolve) => waiting.push(resolve));
    },
    release() {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    },
  };
}
