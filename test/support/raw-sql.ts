/** Direct access to the tables: a test runs a statement of its own, which production cannot do. */
import { sql as statement } from 'drizzle-orm';
import type { Sql } from '../../core/db/sql.ts';

/** Parameters are written `$1`, `$2` … */
export const rawSql = (
  sql: Sql,
  { text, params }: { text: string; params: readonly unknown[] },
): Promise<Record<string, unknown>[]> =>
  sql.rows(
    statement.join(
      text
        .split(/\$(\d+)/)
        .map((piece, i) => (i % 2 === 0 ? statement.raw(piece) : statement`${params[Number(piece) - 1]}`)),
    ),
  );
