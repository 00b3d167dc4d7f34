/** Why a database cannot be used, as a probe may show it to anybody: the server's own message names hosts, roles and databases. */
import { DatabaseError, OperatorError } from '../../errors.ts';

/** A clause without a full stop, such as 'the database cannot be reached'. */
export function whyUnavailable(error: unknown): string {
  if (error instanceof OperatorError) return 'the database cannot be migrated to this version: the log says why';
  const sqlstate = error instanceof DatabaseError ? error.sqlstate : null;
  if (sqlstate === null) return 'the database could not be queried: the log says why';
  return (
    REASONS.find(([pattern]) => pattern.test(sqlstate))?.[1] ?? `the database refuses what it is sent (${sqlstate})`
  );
}

const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^$|^08/, 'the database cannot be reached'],
  [/^53300$/, 'the database has no connection left'],
  [/^57P0/, 'the database is starting or stopping'],
  [/^28/, 'the database refuses the login'],
  [/^3D/, 'the database does not exist'],
  [/^25006$/, 'the database takes no writes'],
];
