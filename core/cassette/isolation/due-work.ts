/** Is there background work to do? Asked before a process is started for it: one that is idle has none. */
import type { Progress } from '../contract.ts';

/** Whether anything was recorded that the snapshot `seen` does not see. */
export type ChangesSince = (seen: string) => Promise<{ seen: string; changed: boolean }>;

type Deps = { changes: ChangesSince; progress(): Progress | null; now?: () => number };

/** Before every change. */
const NOTHING_SEEN = '3:3:';
/** After a run that failed, or left something that may be tried again: doubling. */
const RETRY_MS = { first: 30_000, most: 300_000 };
/** What no change tells of, such as rows of a relation that is not ours, waits no longer than this. */
const ANYWAY_MS = 3_600_000;

/** Runs what it is given when there is something to do: it changed, or the last run said that there is more. @throws what the run throws */
export function openDueWork({ changes, progress, now = Date.now }: Deps): (run: () => Promise<void>) => Promise<void> {
  let seen = NOTHING_SEEN;
  let failures = 0;
  let retryAt: number | null = null;
  let anywayAt = now() + ANYWAY_MS;

  return async (run) => {
    if (failures > 0 && retryAt !== null && now() < retryAt) return;
    const { pending = 0, failed = 0 } = progress() ?? {};
    const found = await changes(seen);
    const retries = failed > 0 && retryAt !== null && now() >= retryAt;
    if (!found.changed && pending === 0 && failures === 0 && !retries && now() < anywayAt) return;
    const pause = Math.min(RETRY_MS.first * 2 ** failures, RETRY_MS.most);
    try {
      await run();
      failures = 0;
      retryAt = now() + RETRY_MS.most;
      anywayAt = now() + ANYWAY_MS;
      seen = found.seen;
    } catch (error) {
      failures += 1;
      retryAt = now() + pause;
      throw error;
    }
  };
}
