/** Connects a process that serves without its database: retries until the database answers and is of this version, and logs why it waits. */
import { aborted } from '../aborted.ts';
import { whyUnavailable } from '../db/client/why-unavailable.ts';
import { prepareServer, type ServerDatabase } from '../db/prepare-server.ts';
import { DatabaseError, OperatorError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { retry } from '../retry.ts';

const RETRY = { firstMs: 100, maxMs: 5_000 };

type Deps = {
  server: ServerDatabase;
  unavailable: (why: string) => void; // called while the database cannot be used
  withoutIt: string; // what happens meanwhile, for the log
  log: Logger;
  signal: AbortSignal;
};

/**
 * Settles when the database answers and has been migrated. What the operator has to fix (a password, a newer version's database) is
 * waited for like an outage: calls pass meanwhile, and the reason is logged. @throws what is no failure of the database, and at the signal
 */
export async function reachDatabase({ server, unavailable, withoutIt, log, signal }: Deps): Promise<void> {
  let reported = '';
  const stopped = aborted(signal);
  stopped.catch(() => {}); // also when the signal comes after this has settled
  await retry(() => Promise.race([prepareServer(server, log), stopped]), {
    ...RETRY,
    signal,
    isRetryable: isOfDatabase,
    onFailure: (error) => {
      const reason = (error as Error).message;
      if (reason !== reported) log.error({ reason }, `Cannot use the database of storage.postgres_dsn: ${withoutIt}`);
      reported = reason;
      unavailable(whyUnavailable(error));
    },
  });
  if (reported !== '') log.info('The database answers');
}

const isOfDatabase = (error: unknown): boolean => error instanceof DatabaseError || error instanceof OperatorError;
