/** The heartbeat of a process: shows over its channel whether its event loop still turns. */
import type { Life } from './life.ts';

/** Ends the process when its event loop does not turn for too long. @returns a function that stops watching */
export function watch(
  life: { channel: Pick<Life['channel'], 'beat'>; end(reason: string): void },
  { everyMs, withinMs }: { everyMs: number; withinMs: number },
): () => void {
  let timeout: NodeJS.Timeout | undefined;
  let next: NodeJS.Timeout | undefined;
  const beat = () => {
    const reason = `it was ended: no answer to its heartbeat for ${withinMs / 1000} s`;
    // Two timers in turn: after a pause of our own event loop the first fires before a waiting reply is read, the second does not.
    timeout = setTimeout(() => {
      timeout = setTimeout(life.end, withinMs / 2, reason);
    }, withinMs / 2);
    life.channel.beat().then(
      () => {
        clearTimeout(timeout);
        next = setTimeout(beat, everyMs);
      },
      () => clearTimeout(timeout), // the process ends, which is handled elsewhere
    );
  };
  next = setTimeout(beat, everyMs);
  return () => {
    clearTimeout(timeout);
    clearTimeout(next);
  };
}
