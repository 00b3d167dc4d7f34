/** Decides whether background work is due before a process is started for it: a cassette that is idle has none. */
import { openBackoff } from '../../retry.ts';
import type { Progress } from '../contract.ts';

/** Whether anything was recorded that the snapshot `seen` does not include. */
export type ChangesSince = (seen: string) => Promise<{ seen: string; changed: boolean }>;

/** `now`: milliseconds of a clock that nobody sets back. */
type Deps = { changes: ChangesSince; progress(): Progress | null; now?: () => number };

/** The snapshot before every change. */
const NOTHING_SEEN = '3:3:';
/** The pause after a run that failed: doubling. */
const RETRY = { firstMs: 30_000, maxMs: 300_000 };
/** The pause after one that left failed items to try again: doubling while it helps none of them, since some are refused for good. */
const RETRY_ITEMS = { firstMs: 300_000, maxMs: 3_600_000 };
/** Work without a recorded change, such as rows of a relation that is not ours, waits no longer than this. */
const ANYWAY_MS = 3_600_000;

/**
 * Calls `run` when there is work: something changed, or the last run reported more to do. A run that its signal called off counts neither as
 * done nor as failed. @throws what the run throws
 */
export function openDueWork({
  changes,
  progress,
  now = () => performance.now(),
}: Deps): (run: () => Promise<void>, signal: AbortSignal) => Promise<void> {
  let seen = NOTHING_SEEN;
  const backoff = openBackoff(RETRY);
  const itemsBackoff = openBackoff(RETRY_ITEMS);
  let failing = false;
  let retryAt: number | null = null;
  let anywayAt = now() + ANYWAY_MS;

  return async (run, signal) => {
    if (failing && retryAt !== null && now() < retryAt) return;
    const { pending = 0, failed = 0 } = progress() ?? {};
    const result = await changes(seen);
    const retries = failed > 0 && retryAt !== null && now() >= retryAt;
    if (!result.changed && pending === 0 && !failing && !retries && now() < anywayAt) return;
    try {
      await run();
      if (signal.aborted) return;
      failing = false;
      backoff.reset();
      if (!retries || (progress()?.failed ?? 0) < failed) itemsBackoff.reset();
      retryAt = now() + itemsBackoff.next();
      anywayAt = now() + ANYWAY_MS;
      seen = result.seen;
    } catch (error) {
      if (signal.aborted) throw error;
      failing = true;
      retryAt = now() + backoff.next();
      throw error;
    }
  };
}
