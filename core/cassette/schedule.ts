/** Schedules background work: at its interval, or soon after a change, on the replica that holds the lease, one run at a time. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CassetteDatabases } from './database/cassette-databases.ts';
import type { Installed } from './installed.ts';

const LEASE_MS = 60_000;

/** How often changes are looked for; after a run first as late as `RUNS_PER_PAUSE` such runs would take. */
const CHECK_MS = 1_000;
const RUNS_PER_PAUSE = 4;

/** The longest time of a timer of Node: a longer one ends at once. */
const LONGEST_TIMER_MS = 2_147_483_647;

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
  /** The clock of what is reported. What is due is counted by one that nobody sets back. */
  now: () => number;
  /** How long a lease lasts that is not renewed. */
  leaseMs?: number;
  ran(run: NonNullable<Installed['last_run']>): void;
};

const elapsedMs = () => performance.now();

/**
 * The first run is due at once; where another has the lease, or the database is away, it is tried again as soon as a lease could end.
 * `stop` aborts the run under way and waits for it, at most some seconds.
 */
export function keepSchedule(deps: Deps): { stop(): Promise<void> } {
  const { name, everyMs, run, databases, changed, now, leaseMs = LEASE_MS, ran } = deps;
  const token = randomUUID();
  const stopping = new AbortController();
  const pause = (ms: number) => sleep(ms, undefined, { signal: stopping.signal, ref: false }).catch(() => {});
  const holdsLease = () =>
    databases ? databases.lease(name, token, leaseMs).catch(() => false) : Promise.resolve(true);

  /** Renews the lease until `stop` is called. `onLost` is called each time that it is another's, or the database is away. */
  const renewLease = (onLost: () => void = () => {}) => {
    const renew = async () => {
      if (!(await holdsLease())) onLost();
    };
    const timer = setInterval(() => void renew(), leaseMs / 3).unref();
    return { stop: () => clearInterval(timer) };
  };

  const runOnce = async (due: number) => {
    const lost = new AbortController();
    const renewal = renewLease(() => {
      renewal.stop(); // another may run it from here on
      lost.abort();
    });
    const scheduled_at = Math.round(now() - (elapsedMs() - due));
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
      renewal.stop();
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
    const wait = (ms: number) => pause(Math.max(0, Math.min(ms, latest - elapsedMs(), LONGEST_TIMER_MS)));
    await wait(changed ? pauseMs : everyMs);
    while (!stopping.signal.aborted && elapsedMs() < latest) {
      if (await hasChanged()) return elapsedMs();
      await wait(changed ? CHECK_MS : everyMs);
    }
    return latest;
  };
  const loop = async () => {
    let due = elapsedMs();
    while (!stopping.signal.aborted) {
      await hasChanged(); // changes from here on are found after the run
      const began = elapsedMs();
      const isOurs = await holdsLease();
      if (isOurs) await runOnce(due);
      const pauseMs = Math.max(CHECK_MS, RUNS_PER_PAUSE * (elapsedMs() - began));
      const nextMs = isOurs ? everyMs : Math.min(everyMs, leaseMs); // who has the lease may have been killed
      // The lease is kept between runs, so that the interval holds: others try to get it meanwhile.
      const renewal = isOurs && everyMs > leaseMs / 2 ? renewLease() : null;
      due = await nextDue(Math.max(due + nextMs, elapsedMs()), pauseMs);
      renewal?.stop();
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
