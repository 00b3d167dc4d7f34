/** The database thread of tests: the real one, with operations that production does not have. */
import { sql as statement } from 'drizzle-orm';
import { serveOperations } from '../../core/db/client/serve-operations.ts';
import { operations } from '../../core/db/operations.ts';
import type { Sql } from '../../core/db/sql.ts';
import { rawSql } from './raw-sql.ts';

/** The mistake that deadlocks an operation: inside a transaction it runs a statement outside of it. */
const waitForItself = (sql: Sql) => sql.transaction(() => sql.rows(statement`select 1`));

const die = async () => process.exit(1);

await serveOperations({ ...operations, rawSql, waitForItself, die });
