/** Whether the database answers, and takes writes. */
import { sql as statement } from 'drizzle-orm';
import type { Sql } from './sql.ts';
import { TAKES_WRITES } from './takes-writes.ts';

export async function ping(
  sql: Sql,
  _args: Record<string, never>,
): Promise<{ server_version: string; takes_writes: boolean }> {
  const [row] = await sql.rows<{ server_version: string; takes_writes: boolean }>(
    statement`
      select current_setting('server_version') as server_version,
             ${TAKES_WRITES} as takes_writes`,
  );
  return { server_version: row?.server_version ?? '', takes_writes: row?.takes_writes ?? false };
}
