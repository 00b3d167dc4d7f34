/** Who keeps projections up with their turns? Some lanes over a queue of sessions; one that fails holds up no other. */
import { setTimeout as startTimer } from 'node:timers';
import { setTimeout } from 'node:timers/promises';
import type { Database } from '../db/database.ts';
import type { Lease } from '../db/derive/derive-queue.ts';
import { DERIVE_VERSION } from '../derive/version.ts';
import { DatabaseError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { deriveSession } from './derive-session.ts';
import type { EnginePace } from './pace.ts';
import { openPrecedence, type Precedence } from './precedence.ts';
import type { Reader } from './reader.ts';

export type DeriveWorker = {
  /** A session may be due. */
  poke(): void;
  /** Resolves when no session is due and none is at work; those that back off or are parked are not waited for. */
  drained(): Promise<void>;
  /** Resolves when all lanes have stopped, after the signal. */
  stopped: Promise<void>;
};

type Deps = {
  database: Database;
  reader: Reader;
  log: Logger;
  metrics: Pick<Metrics, 'derived' | 'derivePending'>;
  signal: AbortSignal;
  pollMs?: number;
  rest?: EnginePace['rest'];
  precedence?: Precedence;
};

const LANES = 4;
const LEASE_MS = 15_000;
const OUTDATED_AT_ONCE = 500;
const PATIENCE_MS = { first: 100, most: 5_000 }; // while the database does not answer

export function runDeriveWorker({
  database,
  reader,
  log,
  metrics,
  signal,
  pollMs = 1_000,
  rest: restAfter,
  precedence = openPrecedence(database),
}: Deps): DeriveWorker {
  /** By lease: a session that is marked from scratch while it is derived is taken a second time, and the first then commits nothing. */
  const active = new Map<string, { background: boolean; ended: Promise<void> }>();
  const waiting: (() => void)[] = []; // for drained
  let due = true;
  let wake = () => {};
  let patience = PATIENCE_MS.first; // of the loop, with the queue
  let interrupted = 0; // milliseconds that a lane waits once more, since the database last took what was derived
  let gaugedAt = Number.NEGATIVE_INFINITY;

  const poke = () => {
    due = true;
    wake();
  };
  /** Until a poke, the signal, or the time is over. */
  const rest = (ms: number) =>
    new Promise<void>((done) => {
      const timer = startTimer(() => wake(), ms);
      wake = () => {
        clearTimeout(timer);
        wake = () => {};
        done();
      };
      if (signal.aborted) wake();
    });
  signal.addEventListener('abort', () => wake(), { once: true });
  const sleep = (ms: number) => setTimeout(ms, undefined, { signal }).catch(() => {}); // the signal ends it early

  const start = (lease: Lease) => {
    const ended = derive(lease).finally(() => {
      active.delete(lease.lease_token);
      poke();
    });
    active.set(lease.lease_token, { background: lease.background, ended });
  };

  const derive = async (lease: Lease): Promise<void> => {
    const { session_id, lease_token } = lease;
    const began = performance.now();
    const heart = setInterval(() => {
      database.execute('renewLease', { session_id, lease_token, lease_ms: LEASE_MS }).catch(() => {}); // the commit finds out
    }, LEASE_MS / 3);
    try {
      const { folded, end } = await deriveSession({ database, reader, signal, precedence }, lease);
      if (end === 'stopped') await database.execute('returnLease', { session_id, lease_token });
      if (end === 'lost') log.warn({ session_id }, 'another worker has taken over a session');
      interrupted = 0;
      metrics.derived((performance.now() - began) / 1_000);
      log.debug({ session_id, folded, end, ms: Math.round(performance.now() - began) }, 'derived');
    } catch (error) {
      await failed(lease, error).catch((again: unknown) => {
        log.warn({ session_id, reason: classOf(again) }, 'a lease could not be given back; it will expire');
      });
    } finally {
      clearInterval(heart);
    }
    await restAfter?.(performance.now() - began);
  };

  const failed = async ({ session_id, lease_token, attempts }: Lease, error: unknown): Promise<void> => {
    if (error instanceof DatabaseError && error.transient) {
      if (interrupted === 0)
        log.warn(
          { session_id, reason: classOf(error) },
          'deriving is interrupted; it is tried until the database takes it',
        );
      interrupted = Math.min(interrupted * 2 || PATIENCE_MS.first, PATIENCE_MS.most);
      await sleep(interrupted);
      await persistently(() => database.execute('returnLease', { session_id, lease_token }));
      return;
    }
    const outcome = await database.execute('failDerive', { session_id, lease_token, error: classOf(error) });
    const stack = error instanceof Error ? error.stack?.split('\n').slice(1, 6).join('\n') : undefined; // places, no message
    log.error(
      { session_id, reason: classOf(error), attempt: attempts + 1, parked: outcome?.parked ?? false, stack },
      'deriving failed',
    );
  };

  /** One round: leases what the free lanes can take. True when something was started. */
  const round = async (): Promise<boolean> => {
    const free = LANES - active.size;
    if (free <= 0) return false;
    const background = ![...active.values()].some((lane) => lane.background);
    const leases = await database.execute('leaseDirty', { limit: free, background, lease_ms: LEASE_MS });
    leases.forEach(start);
    patience = PATIENCE_MS.first;
    if (performance.now() - gaugedAt >= pollMs) {
      gaugedAt = performance.now();
      const { queued, parked, oldest_seconds } = await database.execute('derivePending', {});
      metrics.derivePending({ queue: queued, parked, lagSeconds: oldest_seconds });
    }
    return leases.length > 0;
  };

  const run = async (): Promise<void> => {
    if (database.kind === 'embedded') await persistently(() => database.execute('freeLeases', {}));
    let unlisten = async () => {};
    database.listen('svc_dirty', poke).then(
      (stop) => {
        unlisten = stop;
      },
      (error: unknown) => log.warn({ reason: classOf(error) }, 'cannot listen for new turns; they are polled for'),
    );
    const outdated = markOutdated();
    while (!signal.aborted) {
      const asked = waiting.length; // who waits from later on needs a round that began after that
      due = false;
      try {
        const started = await round();
        if (!started && !due && active.size === 0) for (const done of waiting.splice(0, asked)) done();
        if (!started && !due) await rest(pollMs);
      } catch (error) {
        log.warn({ reason: classOf(error), again_in_ms: patience }, 'the queue of sessions cannot be read');
        await rest(patience);
        patience = Math.min(patience * 2, PATIENCE_MS.most);
      }
    }
    await Promise.allSettled([...active.values()].map(({ ended }) => ended));
    await outdated;
    await unlisten().catch(() => {});
    for (const done of waiting.splice(0)) done();
  };

  /** Sessions that older rules derived are derived again, behind everything that is new. */
  const markOutdated = async (): Promise<void> => {
    let after: string | null = null;
    let all = 0;
    do {
      const from: string | null = after;
      const answer: { last: string | null; marked: number } | null = await persistently(() =>
        database.execute('markOutdated', { derive_version: DERIVE_VERSION, after: from, limit: OUTDATED_AT_ONCE }),
      );
      after = answer?.last ?? null;
      all += answer?.marked ?? 0;
    } while (after !== null && !signal.aborted);
    if (all === 0) return;
    log.info({ sessions: all, derive_version: DERIVE_VERSION }, 'sessions of older rules are derived again');
    poke();
  };

  /** Asks until there is an answer or the signal. A refusal that asking again will not change is logged, and null. */
  const persistently = async <T>(ask: () => Promise<T>): Promise<T | null> => {
    for (let ms = PATIENCE_MS.first; !signal.aborted; ms = Math.min(ms * 2, PATIENCE_MS.most)) {
      try {
        return await ask();
      } catch (error) {
        log.warn({ reason: classOf(error) }, 'the database could not be asked');
        if (!(error instanceof DatabaseError) || !error.transient) return null;
        await sleep(ms);
      }
    }
    return null;
  };

  return {
    poke,
    drained: () =>
      new Promise((done) => {
        if (signal.aborted) return done();
        waiting.push(done);
        poke();
      }),
    stopped: run(),
  };
}

/** What kind of failure it was, without a word of what it was about. */
const classOf = (error: unknown): string =>
  error instanceof DatabaseError
    ? `DatabaseError ${error.sqlstate}`.trim()
    : error instanceof Error
      ? error.name
      : 'unknown';
