/** Throttling of owners with long jobs: those together get about half of the time. */

export type Throttle = {
  /** Charges an owner the time of a job beyond what is free. */
  charge(owner: string, ms: number): void;
  isThrottled(owner: string): boolean;
  /** How long the owners that are throttled have to wait. */
  waitMs(): number;
};

/** How long an owner that was charged shares one budget with all others that were. */
const HEAVY_MS = 60_000;

/** @param freeMs the free time of one job; the time beyond it is charged, up to `mostMs` */
export function openThrottle({ freeMs, mostMs, now }: { freeMs: number; mostMs: number; now: () => number }): Throttle {
  const heavyUntil = new Map<string, number>();
  let throttledUntil = 0;
  return {
    charge(owner, ms) {
      const charged = Math.min(mostMs, ms - freeMs);
      if (charged <= 0) return;
      heavyUntil.set(owner, now() + HEAVY_MS);
      throttledUntil = Math.max(throttledUntil, now()) + charged;
    },
    isThrottled(owner) {
      if ((heavyUntil.get(owner) ?? 0) > now()) return throttledUntil > now();
      heavyUntil.delete(owner);
      return false;
    },
    waitMs: () => throttledUntil - now(),
  };
}
