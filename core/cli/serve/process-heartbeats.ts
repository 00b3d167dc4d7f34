/**
 * Whether the processes of `svc serve` respond: each is asked from time to time, and has until the next time. One that has ended needs
 * nobody's attention, since the parent starts it again; one that is alive and does not respond, the parent cannot mend.
 */
import type { ProcessState } from '../../model/status.ts';

export type ProcessHeartbeats = {
  /** A process has responded. */
  beat(pid: number): void;
  /** Whether each that ran at the last call has responded since; then asks all again. */
  check(): boolean;
};

/** @param request sends a request for a heartbeat to all that run */
export function processHeartbeats(states: () => readonly ProcessState[], request: () => void): ProcessHeartbeats {
  let awaited = new Set<number>();
  return {
    beat: (pid) => void awaited.delete(pid),
    check: () => {
      const running = new Set(states().flatMap(({ pid }) => pid ?? []));
      const isWell = [...awaited].every((pid) => !running.has(pid));
      awaited = running;
      request();
      return isWell;
    },
  };
}
