/** Connects a process that serves without its database: retries until the database answers and is of this version, and logs why it waits. */
import { aborted } from '../aborted.ts';
import { openPool, type Server } from '../db/client/server.ts';
import { migrate } from '../db/migrate.ts';
import { readMigrations } from '../db/migrations.ts';
import { DatabaseError, OperatorError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { retry } from '../retry.ts';

const RETRY = { firstMs: 100, maxMs: 5_000 };

type Deps = {
  server: Pick<Server, 'dsn' | 'pooled'>;
  log: Logger;
  signal: AbortSignal;
};

/**
 * Settles when the database answers and has been migrated. What the operator has to fix (a password, a newer version's database) is
 * waited for like an outage: calls pass meanwhile, and the reason is logged. @throws what is no failure of the database, and at the signal
 */
export async function reachDatabase({ server, log, signal }: Deps): Promise<void> {
  let reported = '';
  const stopped = aborted(signal);
  stopped.catch(() => {}); // also when the signal comes after this has settled
  await retry(() => Promise.race([reach(server), stopped]), {
    ...RETRY,
    signal,
    isRetryable: isOfDatabase,
    onFailure: (error) => {
      const reason = (error as Error).message;
      if (reason !== reported)
        log.error({ reason }, 'Cannot use the database of storage.postgres_dsn: calls pass, and wait in the journal');
      reported = reason;
    },
  });
  if (reported !== '') log.info('The database answers: the journal is being taken in');
}

const isOfDatabase = (error: unknown): boolean => error instanceof DatabaseError || error instanceof OperatorError;

/** @throws when the database does not answer or is not of this version */
async function reach({ dsn, pooled }: Pick<Server, 'dsn' | 'pooled'>): Promise<void> {
  const pool = openPool({ dsn, pooled, size: 1 });
  try {
    await migrate(pool.sqlFor(Number.POSITIVE_INFINITY), await readMigrations());
  } finally {
    await pool.close();
  }
}
