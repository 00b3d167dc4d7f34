/**
 * The count of purges on a server, by which a writer knows whether its list of stored slices is still valid; no writer runs during a purge.
 * A standby that has taken over may lack the last commits of the server before it, and with them slices: it has another start time.
 */
import { sql } from 'drizzle-orm';
import { DatabaseError } from '../../errors.ts';
import { pipelined } from '../pipelined.ts';
import type { Sql } from '../sql.ts';

/** The `sqlstate` of a refusal: the writer has to discard its list of stored slices, and retry. */
export const PURGED_MEANWHILE = 'SVC01';

/** A lock of two numbers: advisory locks with one number are used for clients, whose hashes may have any value. */
const LOCK = sql`${0x737663}::integer, ${1}::integer`;

/**
 * Call it before anything is written that refers to slices. Until the transaction ends no purge deletes any.
 * @param purges the count at which slices were omitted as stored already; undefined: none was omitted
 * @throws {DatabaseError} PURGED_MEANWHILE, transient
 */
export async function holdSlices(tx: Sql, purges: string | undefined): Promise<void> {
  const locked = tx.rows(sql`select pg_advisory_xact_lock_shared(${LOCK})`);
  // A statement of its own, which sees what was committed while this one waited for the lock.
  const [, count] = await pipelined([locked, purges === undefined ? null : purgeCount(tx)]);
  if (purges === undefined || count === purges) return;
  throw new DatabaseError('Cannot store: slices that are referred to may have been purged', PURGED_MEANWHILE, true);
}

/** Waits for current writers; new ones wait until the transaction ends. */
export const stopWriters = (tx: Sql): Promise<unknown> => tx.rows(sql`select pg_advisory_xact_lock(${LOCK})`);

export const countPurge = (tx: Sql): Promise<unknown> => tx.rows(sql`update svc.installation set purges = purges + 1`);

/** `purges`: only to be compared, with that of another moment. `partition_no`: in which turns are stored until the count changes. */
export type StoringTo = { purges: string; partition_no: number };

export async function storingTo(db: Sql): Promise<StoringTo> {
  const [row] = await db.rows<StoringTo>(
    sql`select purges || '@' || extract(epoch from pg_postmaster_start_time()) as purges, partition_no from svc.installation`,
  );
  return row ?? { purges: '', partition_no: 0 };
}

export const purgeCount = async (db: Sql): Promise<string> => (await storingTo(db)).purges;
