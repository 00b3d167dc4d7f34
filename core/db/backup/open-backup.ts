/** Begins a backup: sets its marks, and reads what changes with each turn in the same transaction. Ends it: has anything broken it meanwhile? */
import { sql } from 'drizzle-orm';
import type { Sql } from '../sql.ts';
import { stopWriters } from '../store/purge-count.ts';
import { type BackupColumn, type BackupValue, columnsOf, plainTexts, selection, valuesOf } from './columns.ts';
import { type BackupMarks, KEPT_TABLES, MARKED_TABLES } from './kept-tables.ts';

/** `last`: the last value that was taken. */
export type SequenceValue = { name: string; last: number };

export type TableRows = { table: string; columns: BackupColumn[]; rows: BackupValue[][] };

export type BackupOpened = {
  marks: BackupMarks;
  made_at: string;
  kind: Sql['kind'];
  /** The names of the files that have migrated this database, in their order. */
  migrations: string[];
  installation: { identity_key: string; created_at: string };
  sequences: SequenceValue[];
  /** Rows of the tables that change with each turn. */
  marked: TableRows[];
  /** The columns of the other tables, by name. */
  columns: Record<string, BackupColumn[]>;
};

export const openBackup = (db: Sql, _args: Record<string, never>): Promise<BackupOpened> =>
  db.transaction(async (tx) => {
    await stopWriters(tx); // so that no writer with a lower id than the highest is still at work
    await plainTexts(tx);
    const [installed] = await tx.rows<{ identity_key: string; created_at: string; made_at: string }>(sql`
      select encode(identity_key, 'hex') as identity_key, created_at::text as created_at, now()::text as made_at from svc.installation`);
    if (!installed) throw new Error('Cannot back up: the row of the installation is missing');
    const { made_at, ...installation } = installed;
    const migrations = await tx.rows<{ name: string }>(
      sql`select name from svc_meta.migrations order by name collate "C"`,
    );
    const sequences = await tx.rows<SequenceValue>(sql`
      select sequencename as name, last_value as last from pg_sequences where schemaname = 'svc' and last_value is not null order by name`);
    const marked: TableRows[] = [];
    for (const table of MARKED_TABLES) {
      const columns = await columnsOf(tx, table);
      const rows = await tx.rows(sql`select ${selection(columns)} from ${sql.raw(table)} t order by t.*`);
      marked.push({ table, columns, rows: rows.map((row) => valuesOf(row, columns)) });
    }
    const columns: BackupOpened['columns'] = {};
    for (const { name } of KEPT_TABLES) columns[name] = (await columnsOf(tx, name)).filter(isOfTheRecord);
    return {
      marks: await marksOf(tx),
      made_at,
      kind: tx.kind,
      migrations: migrations.map(({ name }) => name),
      installation,
      sequences,
      marked,
      columns,
    };
  });

/** Whether what was read since the marks were set holds together: turns are only added, and some moved, unless somebody purges some. */
export async function isBackupWhole(db: Sql, { marks }: { marks: BackupMarks }): Promise<boolean> {
  const now = await marksOf(db);
  const same = (mark: keyof BackupMarks) => now[mark] === marks[mark];
  return same('removals') && same('tombstones');
}

async function marksOf(db: Sql): Promise<BackupMarks> {
  const [marks] = await db.rows<BackupMarks>(sql`
    select coalesce((select max(raw_turn_id) from svc.raw_turns), 0) as up_to,
           coalesce((select max(correction_id) from svc.raw_turn_corrections), 0) as corrections,
           coalesce((select max(tombstone_id) from svc.tombstones), 0) as tombstones,
           i.purges, i.purges - i.partition_no as removals
      from svc.installation i`);
  if (!marks) throw new Error('Cannot back up: the marks are missing');
  return marks;
}

/** Partitions are of one database: what is restored goes into its current one. */
const isOfTheRecord = ({ name }: BackupColumn) => name !== 'partition_no';
