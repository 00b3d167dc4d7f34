/** A wait for work that ends early at the signal, or at a notification, including one from before it began. */
export type WakeUp = { notify(): void; wait(ms: number): Promise<void> };

export function openWakeUp(signal: AbortSignal): WakeUp {
  let notified = false;
  let wake = () => {};
  signal.addEventListener('abort', () => wake(), { once: true });
  return {
    notify: () => {
      notified = true;
      wake();
    },
    wait: (ms) =>
      new Promise<void>((done) => {
        const timer = setTimeout(() => finish(), ms);
        const finish = () => {
          clearTimeout(timer);
          wake = () => {};
          notified = false;
          done();
        };
        wake = () => {
          if (signal.aborted || notified) finish();
        };
        wake();
      }),
  };
}
