/** The signals to stop: the first asks for it, a second one asks not to wait for what is under way. */

export type StopSignals = { first: Promise<NodeJS.Signals>; second: Promise<void>; close(): void };

const SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT'];

export function stopSignals(): StopSignals {
  let count = 0;
  let first = (_signal: NodeJS.Signals) => {};
  let second = () => {};
  const onSignal = (signal: NodeJS.Signals) => (count++ === 0 ? first(signal) : second());
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return {
    first: new Promise((resolve) => {
      first = resolve;
    }),
    second: new Promise((resolve) => {
      second = resolve;
    }),
    close: () => {
      for (const signal of SIGNALS) process.off(signal, onSignal);
    },
  };
}
