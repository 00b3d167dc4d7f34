/** Is all that is committed on the disk itself? On a server it is; the embedded database gets there with a checkpoint. */
import { sql as statement } from 'drizzle-orm';
import type { Sql } from './sql.ts';

/** After its answer a power cut loses nothing that was committed before it was asked. */
export async function checkpoint(sql: Sql, _args: Record<string, never>): Promise<void> {
  if (sql.kind === 'embedded') await sql.rows(statement`checkpoint`);
}
