/** Connects a process that serves without its database: retries until the database answers and is of this version, and logs why it waits. */
import { setTimeout as pause } from 'node:timers/promises';
import { aborted } from '../aborted.ts';
import { openPool, type Server } from '../db/client/server.ts';
import { migrate, readMigrations } from '../db/migrate.ts';
import { DatabaseError, OperatorError } from '../errors.ts';
import type { Logger } from '../log.ts';

const RETRY_MS = { first: 100, max: 5_000 };

type Deps = {
  server: Pick<Server, 'dsn' | 'pooled'>;
  unavailable: () => void; // called while the database cannot be used
  log: Logger;
  signal: AbortSignal;
};

/**
 * Settles when the database answers and has been migrated. What the operator has to fix (a password, a newer version's database) is
 * waited for like an outage: calls pass meanwhile, and the reason is logged. @throws what is no failure of the database, and at the signal
 */
export async function reachDatabase({ server, unavailable, log, signal }: Deps): Promise<void> {
  let reported = '';
  const stopped = aborted(signal);
  stopped.catch(() => {}); // also when the signal comes after this has settled
  for (let wait = RETRY_MS.first; ; wait = Math.min(wait * 2, RETRY_MS.max)) {
    const reason = await Promise.race([unusableReason(server), stopped]);
    if (reason === null) {
      if (reported !== '') log.info('The database answers: the journal is being taken in');
      return;
    }
    if (reason !== reported)
      log.error({ reason }, 'Cannot use the database of storage.postgres_dsn: calls pass, and wait in the journal');
    reported = reason;
    unavailable();
    await pause(wait, undefined, { signal });
  }
}

/** Why the database cannot be used; null: it can, and is of this version. */
async function unusableReason({ dsn, pooled }: Pick<Server, 'dsn' | 'pooled'>): Promise<string | null> {
  const pool = openPool({ dsn, pooled, size: 1 });
  try {
    await migrate(pool.sqlFor(Number.POSITIVE_INFINITY), await readMigrations());
    return null;
  } catch (error) {
    if (error instanceof DatabaseError || error instanceof OperatorError) return error.message;
    throw error;
  } finally {
    await pool.close();
  }
}
