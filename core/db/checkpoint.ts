/** Makes all commits durable. On a server they are; the embedded database needs a checkpoint for it. */
import { sql as statement } from 'drizzle-orm';
import type { Sql } from './sql.ts';

/** Once it has returned, a power cut loses nothing that was committed before the call. */
export async function checkpoint(sql: Sql, _args: Record<string, never>): Promise<void> {
  if (sql.kind === 'embedded') await sql.rows(statement`checkpoint`);
}
