/** How many spans there are, and how many of them are in the index of texts. */
import type { Database } from '../db/database.ts';

export type FindCoverage = { spans: number; spans_indexed: number };

/** Counting all spans takes a while, and few are new since the last count. */
const COUNTED_AGAIN = { times: 50, mostMs: 2_000 };
const SLOW_MS = 50;
/** Counts that are older are waited for, however long that takes. */
const TOO_OLD_MS = 10_000;

/** Where counting takes long, the counts are those of a moment ago, and are counted again meanwhile. */
export function openFindCoverage(
  execute: Database['execute'],
  now: () => number = () => performance.now(),
): () => Promise<FindCoverage> {
  let last: { counts: FindCoverage; at: number; ms: number } | null = null;
  let counting: Promise<FindCoverage> | null = null;
  const count = async () => {
    const at = now();
    const counts = await execute('findCoverage', {});
    last = { counts, at, ms: now() - at };
    return counts;
  };
  return async () => {
    const age = last ? now() - last.at : Number.POSITIVE_INFINITY;
    if (last && age < Math.min(last.ms * COUNTED_AGAIN.times, COUNTED_AGAIN.mostMs)) return last.counts;
    counting ??= count().finally(() => {
      counting = null;
    });
    if (!last || last.ms <= SLOW_MS || age > TOO_OLD_MS) return counting;
    counting.catch(() => {}); // the next request counts again
    return last.counts;
  };
}
