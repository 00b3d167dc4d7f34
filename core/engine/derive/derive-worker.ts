/** The worker that keeps projections up to date with their turns: some lanes over a queue of sessions; one that fails delays no other. */
import { setTimeout as startTimer } from 'node:timers';
import { setTimeout } from 'node:timers/promises';
import type { Reader } from '../../call/reader.ts';
import type { Database } from '../../db/database.ts';
import type { Lease } from '../../db/derive/derive-queue.ts';
import { DERIVE_VERSION } from '../../derive/version.ts';
import { DatabaseError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { EnginePace } from '../pace.ts';
import { openPrecedence, type Precedence } from '../precedence.ts';
import { deriveSession } from './derive-session.ts';

export type DeriveWorker = {
  /** Reports that a session may be due. */
  poke(): void;
  /** Resolves when no session is due and none is being derived; those that back off or are parked are not waited for. */
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
  pause?: EnginePace['pause'];
  precedence?: Precedence;
};

const LANES = 4;
const LEASE_MS = 15_000;
const OUTDATED_AT_ONCE = 500;
const RETRY_MS = { first: 100, max: 5_000 }; // while the database does not answer

export function runDeriveWorker({
  database,
  reader,
  log,
  metrics,
  signal,
  pollMs = 1_000,
  pause: pauseAfter,
  precedence = openPrecedence(database),
}: Deps): DeriveWorker {
  /** By lease: a session marked `from_scratch` while it is derived is leased a second time, and the first run then commits nothing. */
  const active = new Map<string, { background: boolean; ended: Promise<void> }>();
  const waiting: (() => void)[] = []; // for drained
  let due = true;
  let wake = () => {};
  let retryMs = RETRY_MS.first; // of the loop, when the queue cannot be read
  let backoffMs = 0; // how long a lane waits after an interruption; 0 once the database has accepted a derivation again
  let gaugedAt = Number.NEGATIVE_INFINITY;

  const poke = () => {
    due = true;
    wake();
  };
  /** Resolves at a poke, at the signal, or when the time is over. */
  const waitForWork = (ms: number) =>
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
    const heartbeat = setInterval(() => {
      database.execute('renewLease', { session_id, lease_token, lease_ms: LEASE_MS }).catch(() => {}); // a lost lease shows at the commit
    }, LEASE_MS / 3);
    try {
      const { folded, end } = await deriveSession({ database, reader, signal, precedence }, lease);
      if (end === 'stopped') await database.execute('returnLease', { session_id, lease_token });
      if (end === 'lost') log.warn({ session_id }, 'another worker has taken over a session');
      backoffMs = 0;
      metrics.derived((performance.now() - began) / 1_000);
      log.debug({ session_id, folded, end, ms: Math.round(performance.now() - began) }, 'derived');
    } catch (error) {
      await failed(lease, error).catch((releaseError: unknown) => {
        log.warn({ session_id, reason: classOf(releaseError) }, 'a lease could not be given back; it will expire');
      });
    } finally {
      clearInterval(heartbeat);
    }
    await pauseAfter?.(performance.now() - began);
  };

  const failed = async ({ session_id, lease_token, attempts }: Lease, error: unknown): Promise<void> => {
    if (error instanceof DatabaseError && error.transient) {
      if (backoffMs === 0)
        log.warn(
          { session_id, reason: classOf(error) },
          'deriving is interrupted; it is tried until the database takes it',
        );
      backoffMs = Math.min(backoffMs * 2 || RETRY_MS.first, RETRY_MS.max);
      await sleep(backoffMs);
      await withRetry(() => database.execute('returnLease', { session_id, lease_token }));
      return;
    }
    const outcome = await database.execute('failDerive', { session_id, lease_token, error: classOf(error) });
    const stack = error instanceof Error ? error.stack?.split('\n').slice(1, 6).join('\n') : undefined; // stack frames, no message
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
    retryMs = RETRY_MS.first;
    if (performance.now() - gaugedAt >= pollMs) {
      gaugedAt = performance.now();
      const { queued, parked, oldest_seconds } = await database.execute('derivePending', {});
      metrics.derivePending({ queue: queued, parked, lagSeconds: oldest_seconds });
    }
    return leases.length > 0;
  };

  const run = async (): Promise<void> => {
    if (database.kind === 'embedded') await withRetry(() => database.execute('freeLeases', {}));
    let unlisten = async () => {};
    database.listen('svc_dirty', poke).then(
      (stop) => {
        unlisten = stop;
      },
      (error: unknown) => log.warn({ reason: classOf(error) }, 'cannot listen for new turns; they are polled for'),
    );
    const outdated = markOutdated();
    while (!signal.aborted) {
      const waiters = waiting.length; // a caller that begins to wait later needs a round that begins after that
      due = false;
      try {
        const started = await round();
        if (!started && !due && active.size === 0) for (const done of waiting.splice(0, waiters)) done();
        if (!started && !due) await waitForWork(pollMs);
      } catch (error) {
        log.warn({ reason: classOf(error), again_in_ms: retryMs }, 'the queue of sessions cannot be read');
        await waitForWork(retryMs);
        retryMs = Math.min(retryMs * 2, RETRY_MS.max);
      }
    }
    await Promise.allSettled([...active.values()].map(({ ended }) => ended));
    await outdated;
    await unlisten().catch(() => {});
    for (const done of waiting.splice(0)) done();
  };

  /** Marks sessions that older rules derived to be derived again, behind everything that is new. */
  const markOutdated = async (): Promise<void> => {
    let after: string | null = null;
    let markedCount = 0;
    do {
      const from: string | null = after;
      const result: { last: string | null; marked: number } | null = await withRetry(() =>
        database.execute('markOutdated', { derive_version: DERIVE_VERSION, after: from, limit: OUTDATED_AT_ONCE }),
      );
      after = result?.last ?? null;
      markedCount += result?.marked ?? 0;
    } while (after !== null && !signal.aborted);
    if (markedCount === 0) return;
    log.info({ sessions: markedCount, derive_version: DERIVE_VERSION }, 'sessions of older rules are derived again');
    poke();
  };

  /** Repeats a query until it succeeds or the signal is given. An error that a retry will not change is logged; then the result is null. */
  const withRetry = async <T>(query: () => Promise<T>): Promise<T | null> => {
    for (let ms = RETRY_MS.first; !signal.aborted; ms = Math.min(ms * 2, RETRY_MS.max)) {
      try {
        return await query();
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

/** The kind of a failure, without anything of its message. */
const classOf = (error: unknown): string =>
  error instanceof DatabaseError
    ? `DatabaseError ${error.sqlstate}`.trim()
    : error instanceof Error
      ? error.name
      : 'unknown';
