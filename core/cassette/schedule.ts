/** When does background work run? At its interval, or soon after a change, on whichever replica holds the lease, never twice at once. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CassetteDatabases } from '../db/cassette/cassette-databases.ts';
import type { Installed } from './installed.ts';

const LEASE_MS = 60_000;

/** How often it is looked whether something has changed; after a run so long as `PER_RUN` such runs would take. */
const LOOK_MS = 1_000;
const PER_RUN = 4;

/** Before every change. */
const NOTHING_SEEN = '3:3:';

type Deps = {
  name: string;
  everyMs: number;
  run(event: { scheduled_at: number; signal: AbortSignal }): Promise<void>;
  /** null: this is the only process there is, so no lease is taken. */
  databases: Pick<CassetteDatabases, 'lease' | 'release'> | null;
  /** Whether anything has changed that the snapshot `seen` does not see; null: it runs at its interval alone. */
  changed: CassetteDatabases['changes'] | null;
  now: () => number;
  ran(run: NonNullable<Installed['last_run']>): void;
};

/** The first run is due at once. `stop` aborts the run under way and waits for it, at most some seconds. */
export function keepSchedule({ name, everyMs, run, databases, changed, now, ran }: Deps): { stop(): Promise<void> } {
  const token = randomUUID();
  const stopping = new AbortController();
  const pause = (ms: number) => sleep(ms, undefined, { signal: stopping.signal, ref: false }).catch(() => {});
  const held = () => (databases ? databases.lease(name, token, LEASE_MS).catch(() => false) : Promise.resolve(true));

  const once = async (scheduled_at: number) => {
    const lost = new AbortController();
    const renewal = setInterval(() => {
      void held().then((ours) => {
        if (!ours) lost.abort();
      });
    }, LEASE_MS / 3);
    const run_ = { scheduled_at: new Date(scheduled_at).toISOString(), ended_at: null, error: null };
    ran(run_);
    const ended = (error: string | null) => ran({ ...run_, ended_at: new Date(now()).toISOString(), error });
    try {
      await run({ scheduled_at, signal: AbortSignal.any([stopping.signal, lost.signal]) });
      ended(null);
    } catch (error) {
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
  const nextDue = async (latest: number, restMs: number): Promise<number> => {
    const wait = (ms: number) => pause(Math.max(0, Math.min(ms, latest - now())));
    await wait(changed ? restMs : everyMs);
    while (!stopping.signal.aborted && now() < latest) {
      if (await hasChanged()) return now();
      await wait(LOOK_MS);
    }
    return latest;
  };
  const live = async () => {
    let due = now();
    while (!stopping.signal.aborted) {
      await hasChanged(); // what changes from here on is found after the run
      const began = now();
      if (await held()) await once(due); // who holds the lease keeps it between its runs, so that the interval holds
      const restMs = Math.max(LOOK_MS, PER_RUN * (now() - began));
      due = await nextDue(Math.max(due + everyMs, now()), restMs);
    }
    await databases?.release(name, token).catch(() => {});
  };
  const life = live();
  return {
    async stop() {
      stopping.abort();
      await Promise.race([life, sleep(5_000, undefined, { ref: false })]);
    },
  };
}
