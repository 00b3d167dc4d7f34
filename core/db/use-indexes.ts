/** How a transaction is planned that finds its rows by indexes alone. */
import { sql } from 'drizzle-orm';
import type { Sql } from './sql.ts';

/**
 * For the rest of the transaction, indexes are used. Of tables that have just begun to grow the planner expects so little that it reads
 * them whole, and a prepared statement keeps such a plan until somebody takes statistics: minutes, in which each pass costs more than the
 * one before. (`jit`: where a table has no fitting index, the planner's penalty for reading it would have the query compiled first.)
 */
export const useIndexes = (tx: Sql) =>
  tx.rows(sql`select set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)`);
