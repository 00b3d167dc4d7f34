/**
 * When a process that has ended is started again. Pure: times come in as milliseconds of a clock that only goes forward.
 *
 * | state   | means                                   | event                                             | next |
 * | ------- | --------------------------------------- | ------------------------------------------------- | --- |
 * | running | its process is alive, ready or not      | it ends, at most five times since it was healthy  | waiting, for up to 1 s   |
 * |         |                                         | it ends once more                                 | down |
 * |         |                                         | it has been ready for a minute: healthy           | running; its ends are counted from 0 |
 * | waiting | it is started again soon                | the time comes                                    | running |
 * | down    | it fails again and again                | `downMs` have passed                              | running |
 *
 * Any of them ends when the service is stopped.
 */

const HEALTHY_MS = 60_000;
const QUICK_RESTARTS = 5;
const FIRST_MS = 50;
const MOST_MS = 1_000;

export type RestartPolicy = {
  /** It began to serve. */
  ready(at: number): void;
  /** It ended. @returns after how many milliseconds it starts again; `down`: it has failed too often to be tried at once */
  ended(at: number): { delayMs: number; down: boolean };
};

/** @param downMs the delay of each start once it has failed too often; null: whenever it has served it starts at once, however often it ends */
export function restartPolicy(downMs: number | null): RestartPolicy {
  let readyAt: number | null = null;
  let ends = 0;
  return {
    ready: (at) => {
      readyAt = at;
    },
    ended: (at) => {
      if (readyAt !== null && (downMs === null || at - readyAt >= HEALTHY_MS)) ends = 0;
      readyAt = null;
      ends += 1;
      if (downMs !== null && ends > QUICK_RESTARTS) return { delayMs: downMs, down: true };
      return { delayMs: ends === 1 ? 0 : Math.min(FIRST_MS * 2 ** ends, MOST_MS), down: false };
    },
  };
}
