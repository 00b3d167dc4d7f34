/** Schedules background work: at its interval, or soon after a change, on the replica that holds the lease, one run at a time. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CassetteDatabases } from './database/cassette-databases.ts';
import type { Installed } from './installed.ts';

const LEASE_MS = 60_000;

/** How often changes are looked for; after a run first as late as `RUNS_PER_PAUSE` such runs would take. */
const CHECK_MS = 1_000;
const RUNS_PER_PAUSE = 4;

/** The snapshot before every change. */
const NOTHING_SEEN = '3:3:';

type Deps = {
  name: string;
  everyMs: number;
  run(event: { scheduled_at: number; signal: AbortSignal }): Promise<void>;
  /** null: this is the only process there is, so no lease is taken. */
  databases: Pick<CassetteDatabases, 'lease' | 'release'> | null;
  /** Whether anything has changed that the snapshot `seen` does not include; null: it runs only at its interval. */
  changed: CassetteDatabases['changes'] | null;
  now: () => number;
  ran(run: NonNullable<Installed['last_run']>): void;
};

/** The first run is due at once. `stop` aborts the run under way and waits for it, at most some seconds. */
export function keepSchedule({ name, everyMs, run, databases, changed, now, ran }: Deps): { stop(): Promise<void> } {
  const token = randomUUID();
  const stopping = new AbortController();
  const pause = (ms: number) => sleep(ms, undefined, { signal: stopping.signal, ref: false }).catch(() => {});
  const holdsLease = () =>
    databases ? databases.lease(name, token, LEASE_MS).catch(() => false) : Promise.resolve(true);

  const runOnce = async (scheduled_at: number) => {
    const lost = new AbortController();
    const renewal = setInterval(() => {
      void holdsLease().then((ours) => {
        if (!ours) lost.abort();
      });
    }, LEASE_MS / 3);
    const started = { scheduled_at: new Date(scheduled_at).toISOString(), ended_at: null, error: null };
    ran(started);
    const ended = (error: string | null) => ran({ ...started, ended_at: new Date(now()).toISOString(), error });
    try {
      await run({ scheduled_at, signal: AbortSignal.any([stopping.signal, lost.signal]) });
      ended(null);
    } catch (error) {
      if (stopping.signal.aborted) return ended(null); // a run that was stopped has not failed
      ended(error instanceof Error ? error.message.slice(0, 500) : 'it threw no error');
    } finally {
      clearInterval(renewal);
    }
  };
  let seen = NOTHING_SEEN;
  const hasChanged = async (): Promise<boolean> => {
    const found = await changed?.(seen).catch(() => null);
    if (found) ({ seen } = found);
    return found?.changed ?? false;
  };
  /** @returns when the next run is due: at the latest at `latest` */
  const nextDue = async (latest: number, pauseMs: number): Promise<number> => {
    const wait = (ms: number) => pause(Math.max(0, Math.min(ms, latest - now())));
    await wait(changed ? pauseMs : everyMs);
    while (!stopping.signal.aborted && now() < latest) {
      if (await hasChanged()) return now();
      await wait(CHECK_MS);
    }
    return latest;
  };
  const loop = async () => {
    let due = now();
    while (!stopping.signal.aborted) {
      await hasChanged(); // changes from here on are found after the run
      const began = now();
      if (await holdsLease()) await runOnce(due); // the lease is kept between runs, so that the interval holds
      const pauseMs = Math.max(CHECK_MS, RUNS_PER_PAUSE * (now() - began));
      due = await nextDue(Math.max(due + everyMs, now()), pauseMs);
    }
    await databases?.release(name, token).catch(() => {});
  };
  const looping = loop();
  return {
    async stop() {
      stopping.abort();
      await Promise.race([looping, sleep(5_000, undefined, { ref: false })]);
    },
  };
}
