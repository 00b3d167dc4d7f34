/** Does what a writer knows of stored slices still hold? A purge deletes some, so it counts up, and no writer is at work meanwhile. */
import { sql } from 'drizzle-orm';
import { DatabaseError } from '../../errors.ts';
import type { Sql } from '../sql.ts';

/** The `sqlstate` of a refusal: the writer is to forget which slices are stored, and to come again. */
export const PURGED_MEANWHILE = 'SVC01';

/** Two numbers of our own: advisory locks of one number are those of clients, whose hashes may be any. */
const LOCK = sql`${0x737663}::integer, ${1}::integer`;

/**
 * Before anything is written that refers to slices. Until the transaction ends no purge deletes any.
 * @param purges the count under which slices were left out as stored already; undefined: none was left out
 * @throws {DatabaseError} PURGED_MEANWHILE, transient
 */
export async function holdSlices(tx: Sql, purges: number | undefined): Promise<void> {
  await tx.rows(sql`select pg_advisory_xact_lock_shared(${LOCK})`);
  // A statement of its own, which sees what was committed while the lock was waited for.
  if (purges === undefined || (await purgeCount(tx)) === purges) return;
  throw new DatabaseError('Cannot store: slices that are referred to may have been purged', PURGED_MEANWHILE, true);
}

/** Waits for those who write; others wait until the transaction ends. */
export const stopWriters = (tx: Sql): Promise<unknown> => tx.rows(sql`select pg_advisory_xact_lock(${LOCK})`);

export const countPurge = (tx: Sql): Promise<unknown> => tx.rows(sql`update svc.installation set purges = purges + 1`);

export async function purgeCount(db: Sql): Promise<number> {
  const [row] = await db.rows<{ purges: number }>(sql`select purges from svc.installation`);
  return row?.purges ?? 0;
}
