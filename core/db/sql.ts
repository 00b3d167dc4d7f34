/** The interface through which operations of `core/db` run SQL, the same for both databases; statements are drizzle's `sql` templates. */

import type { SQL } from 'drizzle-orm';
import { DatabaseError } from '../errors.ts';
import { READ_ONLY } from './sqlstates.ts';

/**
 * Rows come with the same JavaScript types on both databases: `bigint` and `count(*)` as number, `numeric` as string, `bytea` as
 * Uint8Array, `jsonb` parsed, arrays as arrays. Timestamps come as PostgreSQL's text: select them through `instant()`.
 */
export type Sql = {
  kind: 'embedded' | 'server';
  /** @throws {DatabaseError} */
  rows<Row extends Record<string, unknown>>(statement: SQL): Promise<Row[]>;
  /** Runs in one transaction (a savepoint inside another). Inside `work` use only `tx`. @throws {DatabaseError} */
  transaction<T>(work: (tx: Sql) => Promise<T>): Promise<T>;
  /** Runs the statements of a file: several, without parameters. @throws {DatabaseError} */
  script(text: string): Promise<void>;
};

/** A transaction that is under way, as `Sql`: transactions inside it are savepoints. */
export const withSavepoints = (statements: Omit<Sql, 'transaction'>, depth = 1): Sql => ({
  ...statements,
  async transaction(work) {
    const savepoint = `sp${depth}`;
    await statements.script(`savepoint ${savepoint}`);
    try {
      const result = await work(withSavepoints(statements, depth + 1));
      await statements.script(`release savepoint ${savepoint}`);
      return result;
    } catch (error) {
      if (isOfStandby(error)) throw error; // its connection is not used any more, and the rollback's failure would hide why
      await statements.script(`rollback to savepoint ${savepoint}`);
      throw error;
    }
  },
});

const isOfStandby = (error: unknown): boolean => error instanceof DatabaseError && error.sqlstate === READ_ONLY;
