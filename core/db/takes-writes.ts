/** Whether the database takes writes: a standby does not, from which a `serve api` may read. */
import { sql } from 'drizzle-orm';
import type { Sql } from './sql.ts';

export const TAKES_WRITES = sql`current_setting('transaction_read_only') = 'off'`;

/** For what is written beside a read, and may stay away: a refused write costs its connection. (client/failure.ts) */
export async function takesWrites(db: Sql, _args: Record<string, never> = {}): Promise<boolean> {
  const [row] = await db.rows<{ takes_writes: boolean }>(sql`select ${TAKES_WRITES} as takes_writes`);
  return row?.takes_writes === true;
}
