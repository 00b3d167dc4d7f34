/** Does the event loop of a process still turn? Asked by a heartbeat over its channel. */
import type { Life } from './life.ts';

/** Ends it when its event loop does not turn for too long. @returns stops watching */
export function watch(
  life: { channel: Pick<Life['channel'], 'beat'>; end(reason: string): void },
  { everyMs, withinMs }: { everyMs: number; withinMs: number },
): () => void {
  let late: NodeJS.Timeout | undefined;
  let next: NodeJS.Timeout | undefined;
  const beat = () => {
    const reason = `it was ended: no answer to its heartbeat for ${withinMs / 1000} s`;
    // In two steps: after a pause of our own event loop the first timer comes before the answer that waited, the second not.
    late = setTimeout(() => {
      late = setTimeout(life.end, withinMs / 2, reason);
    }, withinMs / 2);
    life.channel.beat().then(
      () => {
        clearTimeout(late);
        next = setTimeout(beat, everyMs);
      },
      () => clearTimeout(late), // it ends, which is told elsewhere
    );
  };
  next = setTimeout(beat, everyMs);
  return () => {
    clearTimeout(late);
    clearTimeout(next);
  };
}
