/** Removes purged data from the database's files as well: deleted rows stay in their pages until these are rewritten. */
import { sql } from 'drizzle-orm';
import { dropLog } from '../gc/rewrite-table.ts';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { tablesOfCassettes } from './forget-in-cassettes.ts';

/** The tables that held rows of a purged session. */
const TABLES = [
  ...['raw_turns', 'raw_turn_corrections', 'slices', 'calls', 'nodes', 'session_rollups', 'session_edits'],
  ...['traces', 'spans', 'span_links', 'derive_states', 'stat_cells', 'stat_days'],
  ...['transcript_readings', 'transcript_calls', 'parked_turns', 'cache_breaks'],
  ...['found_texts', 'found_prompts', 'found_prompt_uses', 'found_sessions'],
].map((name) => `svc.${name}`);

const MOST_BYTES = 512 * 1024 * 1024; // of a table that is rewritten: meanwhile nothing else runs
const MOST_BYTES_OF_CASSETTES = 32 * 1024 * 1024; // an index of vectors takes far longer

/**
 * On the embedded database: rewrites these tables, renews their statistics, which quote values, and deletes the write-ahead log up to
 * then. True when all of it is done. False when a table is too large to be rewritten; its space is only freed for reuse.
 * On a server, vacuuming, the log and backups are its operator's task; only the statistics are renewed here.
 */
export async function sweepPurged(db: Sql, _args: Record<string, never>): Promise<boolean> {
  const ofCassettes = await tablesOfCassettes(db);
  if (db.kind === 'server') {
    for (const name of [...TABLES, ...ofCassettes.map((table) => table.name)])
      await db.rows(sql`analyze ${sql.raw(name)}`);
    return false;
  }
  const sizes = await db.rows<{ name: string; bytes: number }>(sql`
    select t.name, pg_total_relation_size(t.name::regclass) as bytes from unnest(${pgArray(TABLES)}::text[]) as t (name)`);
  const tables = [
    ...sizes.map(({ name, bytes }) => ({ name, affordable: bytes <= MOST_BYTES })),
    ...ofCassettes.map(({ name, bytes }) => ({ name, affordable: bytes <= MOST_BYTES_OF_CASSETTES })),
  ];
  let allRewritten = true;
  for (const { name, affordable } of tables) {
    await db.rows(sql`vacuum ${sql.raw(affordable ? '(full, analyze)' : '(analyze)')} ${sql.raw(name)}`);
    allRewritten &&= affordable;
  }
  await db.rows(sql`vacuum full pg_catalog.pg_statistic`);
  await dropLog(db, {});
  return allRewritten;
}
