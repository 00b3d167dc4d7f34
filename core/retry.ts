/**
 * Retries with exponential backoff: what fails for a while is tried again, each time after a wait twice as long, up to a bound.
 * A library (p-retry) would bring its own schedule and errors for what is twenty lines, and none for loops that poll.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export type BackoffRange = { firstMs: number; maxMs: number };

export type Backoff = {
  /** The wait that is due now, in milliseconds; the next one is twice as long. */
  next(): number;
  /** Begins anew: for a success. */
  reset(): void;
};

/**
 * The waits of a loop that polls, or restarts something.
 * @example
 * const backoff = openBackoff({ firstMs: 100, maxMs: 300 });
 * [backoff.next(), backoff.next(), backoff.next()]; // => [100, 200, 300]
 */
export function openBackoff({ firstMs, maxMs }: BackoffRange): Backoff {
  let ms = Math.min(firstMs, maxMs);
  return {
    next: () => {
      const due = ms;
      ms = Math.min(ms * 2, maxMs);
      return due;
    },
    reset: () => {
      ms = Math.min(firstMs, maxMs);
    },
  };
}

/** Resolves after a time, or at the signal. */
export const sleepUntil = (signal: AbortSignal, ms: number): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => {});

type Options = BackoffRange & {
  signal: AbortSignal; // ends the retries; `work` has to listen to it by itself
  isRetryable?: (error: unknown) => boolean;
  onFailure?: (error: unknown) => void; // called before each wait
};

/** @throws the error of the last attempt: when it is not retryable, or at the signal */
export async function retry<T>(
  work: () => Promise<T>,
  { signal, isRetryable = () => true, onFailure = () => {}, ...range }: Options,
): Promise<T> {
  const backoff = openBackoff(range);
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted || !isRetryable(error)) throw error;
      onFailure(error);
      await sleepUntil(signal, backoff.next());
      if (signal.aborted) throw error;
    }
  }
}
