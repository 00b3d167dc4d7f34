/** A liveness check of the database. */
import { sql as statement } from 'drizzle-orm';
import type { Sql } from './sql.ts';

export async function ping(sql: Sql, _args: Record<string, never>): Promise<{ server_version: string }> {
  const [row] = await sql.rows<{ server_version: string }>(
    statement`select current_setting('server_version') as server_version`,
  );
  return { server_version: row?.server_version ?? '' };
}
