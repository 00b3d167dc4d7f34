/** Is what was purged out of the database's files as well? Deleted rows stay in their pages until these are written anew. */
import { sql } from 'drizzle-orm';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { tablesOfCassettes } from './forget-in-cassettes.ts';

/** Where rows of a purged session were. */
const TABLES = [
  ...['raw_turns', 'raw_turn_corrections', 'slices', 'calls', 'nodes', 'session_rollups', 'session_edits'],
  ...['traces', 'spans', 'span_links', 'derive_states', 'stat_cells', 'stat_days'],
  ...['transcript_readings', 'transcript_calls'],
].map((name) => `svc.${name}`);

const MOST_BYTES = 512 * 1024 * 1024; // of a table that is written anew: meanwhile nobody else is answered
const MOST_BYTES_OF_CASSETTES = 32 * 1024 * 1024; // an index of vectors takes far longer

/**
 * On the embedded database: writes these tables anew, takes their statistics again, which quote values, and deletes the write-ahead
 * log before that. True when all of it is done. False when a table is too large for it, whose space is only freed to be written over.
 * On a server vacuuming, its log and its backups are its operator's; only the statistics are taken again here.
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
  const swept = [
    ...sizes.map(({ name, bytes }) => ({ name, affordable: bytes <= MOST_BYTES })),
    ...ofCassettes.map(({ name, bytes }) => ({ name, affordable: bytes <= MOST_BYTES_OF_CASSETTES })),
  ];
  let anew = true;
  for (const { name, affordable } of swept) {
    await db.rows(sql`vacuum ${sql.raw(affordable ? '(full, analyze)' : '(analyze)')} ${sql.raw(name)}`);
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
