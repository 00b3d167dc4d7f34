/**
 * The worker that keeps projections up to date with their turns: some lanes over a queue of sessions; one that fails delays no other.
 * Where more are due than lanes are free, a lane takes many together (`deriveTogether`) and leaves those for which that is not possible.
 *
 * The states of a session in `svc.derive_queue`, which holds only those that are behind. A lease is its token: who finds another one
 * at its commit, or none, has lost the session and commits nothing.
 *
 * | state | what it means | event | next state | moved by |
 * | --- | --- | --- | --- | --- |
 * | derived | it has no row | a turn comes in, an operator derives it again, the rules are newer | due | markDirty, markFromScratch, markOutdated |
 * | due | `try_after` has come; background: `-infinity`, last | a lane is free | leased | leaseDirty |
 * | leased | `lease_token`, until `leased_until` | every 5 s of the 15 s | leased | renewLeases |
 * | | | committed, with the mark as it was leased | derived | the commit |
 * | | | committed, and a turn came in meanwhile | due | the commit |
 * | | | the worker stops, or the database was away | due | returnLeases |
 * | | | its transcript is large, and another such is being derived: after 5 s | waiting | postponeDerive |
 * | | | it failed: after 2, 4, 8 … 60 s; the eighth time | waiting; parked | failDerive |
 * | | | an operator derives it again, or purges it: this run has lost it | due; derived | markFromScratch; purge |
 * | | | 15 s without a renewal, as when its process was killed: a failed attempt | leased anew; the eighth time parked | leaseDirty; parkAbandoned |
 * | | | the only process of a database starts, and it was leased: likewise | due; waiting; parked | freeLeases |
 * | waiting | `try_after` is to come | it comes, or a turn does | due | time; markDirty |
 * | parked | `parked_at` | a turn comes in, or an operator derives it again | due | markDirty; markFromScratch |
 */
import type { Reader } from '../../call/reader.ts';
import type { Database } from '../../db/database.ts';
import { type Abandoned, type Lease, PROCESS_ENDED } from '../../db/derive/derive-queue.ts';
import { DERIVE_VERSION } from '../../derive/version.ts';
import { reasonOf } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { openBackoff } from '../../retry.ts';
import type { EngineThrottle } from '../engine-throttle.ts';
import { openPrecedence, type Precedence } from '../precedence.ts';
import { openLargeTranscripts } from '../transcript/large-transcripts.ts';
import { openRecentReadings } from '../transcript/recent-readings.ts';
import type { Uploads } from '../uploads.ts';
import { deriveLeased, LEASE_MS, type LeasedDeps, renewing } from './derive-leased.ts';
import { deriveTogether } from './derive-together.ts';
import { openLanes } from './lanes.ts';
import { markOutdated } from './mark-outdated.ts';
import { openQueryRetry, RETRY } from './query-retry.ts';

/** The most sessions that are derived with one commit. */
const TOGETHER = 128;

/** Where uploads never cease, lanes that are free wait so long for them. A new turn has to be readable within 10 s all the same. */
const MOST_WAIT_MS = 3_000;

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
  pause?: EngineThrottle['pause'];
  precedence?: Precedence;
  uploads?: Pick<Uploads, 'passed'>;
};

export function runDeriveWorker({ pollMs = 1_000, precedence, uploads, ...deps }: Deps): DeriveWorker {
  const { database, log, metrics, signal } = deps;
  const withRetry = openQueryRetry(log, signal);
  const leased: LeasedDeps = {
    ...deps,
    precedence: precedence ?? openPrecedence(database),
    withRetry,
    outage: { began: false, backoff: openBackoff(RETRY) },
    largeTranscripts: openLargeTranscripts(database),
    readings: openRecentReadings(),
  };
  const waiting: (() => void)[] = []; // for drained
  const backoff = openBackoff(RETRY); // of the loop, when the queue cannot be read
  const showPending = openPendingGauge(database, metrics, pollMs);
  const parkAbandoned = atMostOnceIn(LEASE_MS, async () => {
    reportParked(log, await database.execute('parkAbandoned', {}));
  });
  let due = true;
  let failing = false; // since the queue could last be read
  let outdatedMarked = false; // until then the queue does not hold all that is due
  let wake = () => {};

  const poke = () => {
    due = true;
    wake();
  };
  /** Resolves at a poke, at the signal, or when the time is over. */
  const waitForWork = (ms: number) =>
    new Promise<void>((done) => {
      const timer = setTimeout(() => wake(), ms);
      wake = () => {
        clearTimeout(timer);
        wake = () => {};
        done();
      };
      if (signal.aborted) wake();
    });
  signal.addEventListener('abort', () => wake(), { once: true });

  const lanes = openLanes(database.kind, poke);
  /** Leased sessions that have to be derived by themselves and wait for a lane. */
  const alone: Lease[] = [];
  const start = (lease: Lease, waited = false) => lanes.start(lease, () => deriveLeased(leased, lease), waited);
  const startTogether = (leases: readonly [Lease, ...Lease[]]) =>
    lanes.start({ ...leases[0], background: leases.some(({ background }) => background) }, async () => {
      alone.push(...(await deriveTogether(leased, leases)));
    });

  /** Starts what waits; another worker may have taken over a lease meanwhile. */
  const startAlone = async (): Promise<boolean> => {
    if (alone.length === 0) return false;
    const waiting = [...alone]; // all, since after an outage those that stay would be leased anew as failed
    const held = new Set(await database.execute('renewLeases', { leases: waiting, lease_ms: LEASE_MS }));
    const lost = new Set(waiting.filter(({ session_id }) => !held.has(session_id)));
    const kept = alone.filter((lease) => !lost.has(lease)); // only now: where the database is away they wait on
    const leases = kept.splice(0, Math.max(0, lanes.freeForWaiting()));
    alone.splice(0, alone.length, ...kept);
    for (const lease of leases) start(lease, true);
    return leases.length > 0;
  };

  /** One round: leases what the free lanes can take. True when something was started. */
  const round = async (): Promise<boolean> => {
    if (lanes.free() <= 0 && (alone.length === 0 || lanes.freeForWaiting() <= 0)) return false;
    await uploads?.passed(MOST_WAIT_MS, signal);
    if (signal.aborted) return false;
    const startedAlone = await startAlone();
    const free = lanes.free();
    if (free <= 0) return startedAlone;
    const background = !lanes.background() && !alone.some((lease) => lease.background);
    const limit = alone.length > 0 ? 1 : TOGETHER;
    const leases = await database.execute('leaseDirty', { limit, background, lease_ms: LEASE_MS });
    for (const { session_id, attempts } of leases)
      if (attempts > 0) log.info({ session_id, failed_attempts: attempts }, 'deriving a session again');
    if (leases.length > free) {
      alone.push(...leases.filter(({ attempts }) => attempts > 0)); // what ends a process shall not end it for others
      const [first, ...others] = leases.filter(({ attempts }) => attempts === 0);
      if (first) startTogether([first, ...others]);
    } else for (const lease of leases) start(lease);
    if (failing) log.info('the queue of sessions is read again');
    failing = false;
    backoff.reset();
    await parkAbandoned();
    await showPending();
    return startedAlone || leases.length > 0;
  };

  const rounds = async (): Promise<void> => {
    while (!signal.aborted) {
      const waiters = waiting.length; // a caller that begins to wait later needs a round that begins after that
      due = false;
      try {
        const started = await round();
        if (!started && !due && outdatedMarked && lanes.idle() && alone.length === 0)
          for (const done of waiting.splice(0, waiters)) done();
        if (!started && !due) await waitForWork(pollMs);
      } catch (error) {
        if (!failing) log.warn({ reason: reasonOf(error) }, 'the queue of sessions cannot be read');
        failing = true; // of an outage the first failure is logged
        await waitForWork(backoff.next());
      }
    }
  };

  const run = async (): Promise<void> => {
    if (database.kind === 'embedded')
      reportParked(log, (await withRetry(() => database.execute('freeLeases', {}))) ?? []);
    const stopRenewing = renewing(database, alone);
    let unlisten = async () => {};
    database.listen('svc_dirty', poke).then(
      (stop) => {
        unlisten = stop;
      },
      (error: unknown) => log.warn({ reason: reasonOf(error) }, 'cannot listen for new turns; they are polled for'),
    );
    const outdated = markOutdated(database, withRetry, signal).then((sessions) => {
      outdatedMarked = true;
      if (sessions > 0)
        log.info({ sessions, derive_version: DERIVE_VERSION }, 'sessions of older rules are derived again');
      poke();
    });
    await rounds();
    await lanes.settled();
    stopRenewing();
    if (alone.length > 0) await database.execute('returnLeases', { leases: alone }).catch(() => null); // else they expire
    await outdated;
    await unlisten().catch(() => {});
    for (const done of waiting.splice(0)) done();
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

function reportParked(log: Logger, sessions: readonly Abandoned[]): void {
  for (const { session_id, attempts } of sessions)
    log.error(
      { session_id, reason: PROCESS_ENDED, attempt: attempts, parked: true },
      'deriving failed: each process that derived the session has ended',
    );
}

/** Returns the function that reads how far derivation is behind, at most once in `pollMs`. */
const openPendingGauge = (database: Database, metrics: Pick<Metrics, 'derivePending'>, pollMs: number) =>
  atMostOnceIn(pollMs, async () => {
    const { queued, parked, oldest_seconds } = await database.execute('derivePending', {});
    metrics.derivePending({ queue: queued, parked, lagSeconds: oldest_seconds });
  });

function atMostOnceIn(ms: number, work: () => Promise<void>): () => Promise<void> {
  let ranAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (performance.now() - ranAt < ms) return;
    ranAt = performance.now();
    await work();
  };
}
