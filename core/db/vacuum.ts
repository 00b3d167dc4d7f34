/** Vacuums tables with many dead rows. The embedded database has no autovacuum, so the engine runs this when idle. */
import { sql as statement } from 'drizzle-orm';
import type { Sql } from './sql.ts';

/** Autovacuum's own rules: a fifth of the rows dead, or a tenth changed since statistics were last taken, past 50 rows. */
const tablesToVacuum = statement`
  select quote_ident(schemaname) || '.' || quote_ident(relname) as name, n_dead_tup > 50 + 0.2 * n_live_tup as sweep
    from pg_stat_user_tables
   where n_dead_tup > 50 + 0.2 * n_live_tup or n_mod_since_analyze > 50 + 0.1 * n_live_tup
   order by n_dead_tup desc, 1`;

/** Vacuums and analyses what needs it, one table at a time so that other statements run in between. On a server autovacuum does it. */
export async function vacuum(sql: Sql, _args: Record<string, never>): Promise<{ tables: string[] }> {
  if (sql.kind === 'server') return { tables: [] };
  await sql.rows(statement`select pg_stat_force_next_flush()`); // else counts lag by seconds, or for ever when nothing else runs
  const tables = await sql.rows<{ name: string; sweep: boolean }>(tablesToVacuum);
  for (const { name, sweep } of tables) {
    await sql.rows(statement.raw(sweep ? `vacuum (analyze) ${name}` : `analyze ${name}`));
  }
  return { tables: tables.map(({ name }) => name) };
}
