/** How the session on screen used the cache: read once somebody shows it, and again after it has grown. */
import { type ReadonlySignal, signal } from '@preact/signals';
import type { SessionCache } from '../../../../../model/cache-break.ts';
import { mayReadAgain } from '../../../store/read-again.ts';

export type SessionBreaks = {
  cache: ReadonlySignal<SessionCache | null>; // null: it has not come, or nobody wants it
  failure: ReadonlySignal<unknown>; // why the last read failed; null: it did not
  /** Wants what is known of a session of so many calls. */
  want: (calls: number) => void;
  retry: () => void;
  close: () => void;
};

export function sessionBreaks(read: (signal: AbortSignal) => Promise<SessionCache>): SessionBreaks {
  const cache = signal<SessionCache | null>(null);
  const failure = signal<unknown>(null);
  const controller = new AbortController();
  let wanted = -1; // calls
  let known = -1;
  let isReading = false;
  const readOn = async (): Promise<void> => {
    if (isReading) return;
    isReading = true;
    while (known !== wanted && !controller.signal.aborted) {
      known = wanted;
      const began = performance.now();
      try {
        cache.value = await read(controller.signal);
        failure.value = null;
      } catch (error) {
        if (!controller.signal.aborted) failure.value = error;
        break;
      }
      await mayReadAgain(began);
    }
    isReading = false;
  };
  return {
    ...{ cache, failure },
    want: (calls) => {
      wanted = calls;
      void readOn();
    },
    retry: () => {
      known = -1;
      failure.value = null;
      void readOn();
    },
    close: () => controller.abort(),
  };
}
