/** Is what was purged out of the database's files as well? Deleted rows stay in their pages until these are written anew. */
import { sql } from 'drizzle-orm';
import type { Sql } from '../sql.ts';

/** Where rows of a purged session were. */
const TABLES = [
  ...['raw_turns', 'raw_turn_corrections', 'slices', 'calls', 'nodes', 'session_rollups', 'session_edits'],
  ...['traces', 'spans', 'span_links', 'derive_states', 'stat_cells', 'stat_days'],
  ...['transcript_readings', 'transcript_calls'],
].map((name) => `svc.${name}`);

const MOST_BYTES = 512 * 1024 * 1024; // of a table that is written anew: meanwhile nobody else is answered

/**
 * On the embedded database: writes these tables anew, takes their statistics again, which quote values, and deletes the write-ahead
 * log before that. True when all of it is done. False when a table is too large for it, whose space is only freed to be written over.
 * On a server vacuuming, its log and its backups are its operator's; only the statistics are taken again here.
 */
export async function sweepPurged(db: Sql, _args: Record<string, never>): Promise<boolean> {
  if (db.kind === 'server') {
    for (const table of TABLES) await db.rows(sql`analyze ${sql.raw(table)}`);
    return false;
  }
  let anew = true;
  for (const table of TABLES) {
    const [size] = await db.rows<{ bytes: number }>(sql`select pg_total_relation_size(${table}::regclass) as bytes`);
    const affordable = (size?.bytes ?? 0) <= MOST_BYTES;
    await db.rows(sql`vacuum ${sql.raw(affordable ? '(full, analyze)' : '(analyze)')} ${sql.raw(table)}`);
    anew &&= affordable;
  }
  await db.rows(sql`vacuum full pg_catalog.pg_statistic`);
  // A log that is begun anew and a checkpoint: no segment before them is needed. Recycled ones would keep their bytes.
  // In one transaction, since a cassette's statement between them would set everything back.
  await db.transaction(async (tx) => {
    await tx.rows(sql`set local wal_recycle = off`);
    await tx.rows(sql`select pg_switch_wal()`);
    await tx.rows(sql`checkpoint`);
  });
  return anew;
}
