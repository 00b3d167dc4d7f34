/** Derives a session whose lease this process has, keeps the lease alive meanwhile, and gives it back where nothing is committed. */
import type { Reader } from '../../call/reader.ts';
import type { Database } from '../../db/database.ts';
import type { Lease, LeaseKey } from '../../db/derive/derive-queue.ts';
import { DatabaseError, reasonOf } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { type Backoff, sleepUntil } from '../../retry.ts';
import type { EngineThrottle } from '../engine-throttle.ts';
import type { Precedence } from '../precedence.ts';
import { type LargeTranscripts, Postponed } from '../transcript/large-transcripts.ts';
import type { RecentReadings } from '../transcript/recent-readings.ts';
import { deriveSession } from './derive-session.ts';
import { isTransient, type QueryRetry } from './query-retry.ts';

export const LEASE_MS = 15_000;

export type LeasedDeps = {
  database: Database;
  reader: Reader;
  log: Logger;
  metrics: Pick<Metrics, 'derived'>;
  signal: AbortSignal;
  pause?: EngineThrottle['pause'] | undefined;
  precedence: Precedence;
  withRetry: QueryRetry;
  outage: Outage;
  largeTranscripts: LargeTranscripts;
  readings: RecentReadings;
};

/** What the lanes know of the database: while it fails, each waits longer before it gives its lease back. */
export type Outage = { began: boolean; backoff: Backoff };

/** Never throws. */
export async function deriveLeased(deps: LeasedDeps, lease: Lease): Promise<void> {
  const { database, reader, log, metrics, signal, pause, precedence, outage, readings } = deps;
  const { session_id } = lease;
  const began = performance.now();
  const stopRenewing = renewing(database, [lease]);
  const { enter, leave } = deps.largeTranscripts.entrance(session_id);
  try {
    const { folded, end } = await deriveSession(
      { database, reader, signal, precedence, readings, beforeReading: enter },
      lease,
    );
    if (end === 'stopped') await database.execute('returnLeases', { leases: [lease] });
    if (end === 'lost') await logLost(deps, session_id);
    outage.began = false;
    outage.backoff.reset();
    metrics.derived((performance.now() - began) / 1_000);
    log.debug({ session_id, folded, end, ms: Math.round(performance.now() - began) }, 'derived');
  } catch (error) {
    await afterError(deps, lease, error).catch((releaseError: unknown) => {
      log.warn({ session_id, reason: reasonOf(releaseError) }, 'a lease could not be given back; it will expire');
    });
  } finally {
    stopRenewing();
    leave();
  }
  await pause?.(performance.now() - began);
}

/** Retention and a purge take a session from whoever derives it, and leave nothing to derive. */
async function logLost({ database, log }: LeasedDeps, session_id: string): Promise<void> {
  if ((await database.execute('readSession', { session_id })) === null)
    log.debug({ session_id }, 'a session was removed while it was derived');
  else log.warn({ session_id }, 'the lease of a session was lost: another worker has it, or it is to be derived anew');
}

const POSTPONED_S = 5;

async function afterError(deps: LeasedDeps, lease: Lease, error: unknown): Promise<void> {
  const { session_id, lease_token } = lease;
  if (error instanceof Postponed)
    await deps.database.execute('postponeDerive', { session_id, lease_token, seconds: POSTPONED_S });
  else if (isTransient(error)) await interrupted(deps, [lease], error);
  else await failed(deps, lease, error);
}

/** Keeps leases alive, those that are in the list at the time, until the returned function is called; a lost one shows at the commit. */
export function renewing(database: Database, leases: readonly LeaseKey[]): () => void {
  const timer = setInterval(() => {
    if (leases.length === 0) return;
    database.execute('renewLeases', { leases, lease_ms: LEASE_MS }).catch(() => {});
  }, LEASE_MS / 3);
  return () => clearInterval(timer);
}

/** The database is away: no attempt is counted. */
export async function interrupted(deps: LeasedDeps, leases: readonly Lease[], error: unknown): Promise<void> {
  const { database, log, signal, outage, withRetry } = deps;
  if (!outage.began)
    log.warn(
      { session_id: leases[0]?.session_id, sessions: leases.length, reason: reasonOf(error) },
      'deriving is interrupted; it is tried until the database takes it',
    );
  outage.began = true;
  await sleepUntil(signal, outage.backoff.next());
  await withRetry(() => database.execute('returnLeases', { leases }));
}

async function failed({ database, log }: LeasedDeps, lease: Lease, error: unknown): Promise<void> {
  const { session_id, lease_token, attempts } = lease;
  const outcome = await database.execute('failDerive', { session_id, lease_token, error: classOf(error) });
  const stack = error instanceof Error ? error.stack?.split('\n').slice(1, 6).join('\n') : undefined; // stack frames, no message
  log.error(
    { session_id, reason: reasonOf(error), attempt: attempts + 1, parked: outcome?.parked ?? false, stack },
    'deriving failed',
  );
}

/** The kind of a failure, without anything of its message: it is stored. */
const classOf = (error: unknown): string =>
  error instanceof DatabaseError
    ? `DatabaseError ${error.sqlstate}`.trim()
    : error instanceof Error
      ? error.name
      : 'unknown';
