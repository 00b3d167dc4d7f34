/** The advisory locks behind which a cassette's database is made: of several processes one goes on, and the others wait. */

import type { SQL } from 'drizzle-orm';
import { DatabaseError } from '../../errors.ts';
import type { Sql } from '../sql.ts';
import { LOCK_TIMEOUT, QUERY_CANCELED } from '../sqlstates.ts';

/** Of the statement by its own limit, and of `lock_timeout` where the server or its role has one. */
const WAITED_TOO_LONG: ReadonlySet<string> = new Set([QUERY_CANCELED, LOCK_TIMEOUT]);

/**
 * Takes the lock until the transaction ends. @param held a clause: what another process does that holds it
 * @throws {DatabaseError} with `LOCK_TIMEOUT` and that clause, transient, where it was not free in time: an expired statement alone
 * looks like a server that is away
 */
export async function takeLock(tx: Sql, lock: SQL, held: string): Promise<void> {
  try {
    await tx.rows(lock);
  } catch (error) {
    if (!(error instanceof DatabaseError) || !WAITED_TOO_LONG.has(error.sqlstate)) throw error;
    throw new DatabaseError(`Cannot run a statement: ${held} (${LOCK_TIMEOUT})`, LOCK_TIMEOUT, true, { cause: error });
  }
}
