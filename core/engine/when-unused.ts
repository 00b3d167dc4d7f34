/** Gives back what a cache holds once nobody has used it for a while. */
import { leaveGarbage } from '../collect-when-idle.ts';

/** @param clear called when `unusedMs` have passed since the last use @returns a function to call with each use */
export function whenUnused(unusedMs: number, clear: () => void): () => void {
  let usedAt = 0;
  let waiting = false;
  const wait = (ms: number) => {
    waiting = true;
    setTimeout(look, ms).unref();
  };
  const look = () => {
    const leftMs = usedAt + unusedMs - performance.now();
    if (leftMs > 0) return wait(leftMs);
    waiting = false;
    clear();
    leaveGarbage();
  };
  return () => {
    usedAt = performance.now();
    if (!waiting) wait(unusedMs);
  };
}
