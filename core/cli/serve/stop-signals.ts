/** The signals to stop: the first asks for it, a second one asks not to wait for what is under way. */

export type StopSignals = { first: Promise<NodeJS.Signals>; second: Promise<void>; close(): void };

/**
 * SIGHUP comes when the terminal is closed. It stops the service under nohup as well: Node sets the signal back to its default before any
 * code of ours runs, so it never was ignored here, and /proc/self/status does not show that it had been. What is to outlive the terminal
 * runs in a session of its own (setsid) or as a unit.
 */
const SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP'];

export function stopSignals(): StopSignals {
  let count = 0;
  let first = (_signal: NodeJS.Signals) => {};
  let second = () => {};
  const onSignal = (signal: NodeJS.Signals) => {
    if (count++ === 0) first(signal);
    else if (signal !== 'SIGHUP') second(); // a terminal that is closed sends several: the kernel's, its shell's and npm's
  };
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
