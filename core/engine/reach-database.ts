/** How does a process that serves without its database come to it? It asks until the database answers and is of this version, and says why it waits. */
import { setTimeout as pause } from 'node:timers/promises';
import { aborted } from '../aborted.ts';
import { openPool, type Server } from '../db/client/server.ts';
import { migrate, readMigrations } from '../db/migrate.ts';
import { DatabaseError, OperatorError } from '../errors.ts';
import type { Logger } from '../log.ts';

const PATIENCE_MS = { first: 100, most: 5_000 };

type Deps = {
  server: Pick<Server, 'dsn' | 'pooled'>;
  away: () => void; // it cannot be used for now
  log: Logger;
  signal: AbortSignal;
};

/**
 * Settles when the database answers and has been migrated. What the operator has to mend (a password, a newer version's database) is
 * waited for like an outage: calls pass meanwhile, and it is said. @throws what is no failure of the database, and at the signal
 */
export async function reachDatabase({ server, away, log, signal }: Deps): Promise<void> {
  let said = '';
  const stopped = aborted(signal);
  stopped.catch(() => {}); // also when it comes after we have settled
  for (let wait = PATIENCE_MS.first; ; wait = Math.min(wait * 2, PATIENCE_MS.most)) {
    const reason = await Promise.race([refusalOf(server), stopped]);
    if (reason === null) {
      if (said !== '') log.info('The database answers: the journal is being taken in');
      return;
    }
    if (reason !== said)
      log.error({ reason }, 'Cannot use the database of storage.postgres_dsn: calls pass, and wait in the journal');
    said = reason;
    away();
    await pause(wait, undefined, { signal });
  }
}

/** Why the database cannot be used; null: it can, and is of this version. */
async function refusalOf({ dsn, pooled }: Pick<Server, 'dsn' | 'pooled'>): Promise<string | null> {
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
