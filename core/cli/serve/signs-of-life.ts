/**
 * Whether the processes of `svc serve` respond: each is asked from time to time, and has until the next time. One that has ended needs
 * nobody's attention, since the parent starts it again; one that is alive and does not respond, the parent cannot mend.
 */
import type { ProcessState } from '../../model/status.ts';

export type SignsOfLife = {
  /** A process has responded. */
  heard(pid: number): void;
  /** Whether each that ran at the last call has responded since; then asks all again. */
  check(): boolean;
};

/** @param states of the processes @param ask asks all of them that run */
export function signsOfLife(states: () => readonly ProcessState[], ask: () => void): SignsOfLife {
  let awaited = new Set<number>();
  return {
    heard: (pid) => void awaited.delete(pid),
    check: () => {
      const running = new Set(states().flatMap(({ pid }) => pid ?? []));
      const isWell = [...awaited].every((pid) => !running.has(pid));
      awaited = running;
      ask();
      return isWell;
    },
  };
}
