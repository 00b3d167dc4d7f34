/** When does background work run? At its interval, on whichever replica holds the lease, never twice at once. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CassetteDatabases } from '../db/cassette/cassette-databases.ts';
import type { Installed } from './installed.ts';

const LEASE_MS = 60_000;

type Deps = {
  name: string;
  everyMs: number;
  run(event: { scheduled_at: number; signal: AbortSignal }): Promise<void>;
  /** null: this is the only process there is, so no lease is taken. */
  databases: Pick<CassetteDatabases, 'lease' | 'release'> | null;
  now: () => number;
  ran(run: NonNullable<Installed['last_run']>): void;
};

/** The first run is due at once. `stop` aborts the run under way and waits for it, at most some seconds. */
export function keepSchedule({ name, everyMs, run, databases, now, ran }: Deps): { stop(): Promise<void> } {
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
  const live = async () => {
    let due = now();
    while (!stopping.signal.aborted) {
      if (await held()) await once(due); // who holds the lease keeps it between its runs, so that the interval holds
      due = Math.max(due + everyMs, now());
      await pause(Math.max(0, due - now()));
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
