/** The columns of a table for a backup, and their values as PostgreSQL writes them, so that they are read back the same. */
import { type SQL, sql } from 'drizzle-orm';
import type { Sql } from '../sql.ts';

/** `type` as PostgreSQL names it. */
export type BackupColumn = { name: string; type: string };

/** A bytea is bytes; any other value is its text. */
export type BackupValue = string | Uint8Array | null;

/** Generated columns are left out: they follow from the others. @param table qualified and quoted */
export const columnsOf = (db: Sql, table: string): Promise<BackupColumn[]> =>
  db.rows<BackupColumn>(sql`
    select a.attname as name, format_type(a.atttypid, a.atttypmod) as type
      from pg_attribute a
     where a.attrelid = ${table}::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     order by a.attnum`);

export const isBytes = ({ type }: BackupColumn): boolean => type === 'bytea';

/** The same texts whatever the settings of the database or the role are. Within a transaction. */
export const plainTexts = (tx: Sql): Promise<unknown> =>
  tx.rows(sql`
    select set_config('datestyle', 'ISO, YMD', true), set_config('intervalstyle', 'postgres', true), set_config('timezone', 'UTC', true),
           set_config('extra_float_digits', '1', true), set_config('bytea_output', 'hex', true)`);

/** Selects the columns as `c0`, `c1` …: texts by name may not be unique. */
export const selection = (columns: readonly BackupColumn[], instead: Readonly<Record<string, SQL>> = {}): SQL =>
  sql.join(
    columns.map((column, i) => {
      const value = instead[column.name] ?? sql`t.${sql.identifier(column.name)}`;
      return isBytes(column) ? sql`${value} as ${alias('c', i)}` : sql`(${value})::text as ${alias('c', i)}`;
    }),
    sql`, `,
  );

export const alias = (letter: string, i: number): SQL => sql.raw(`${letter}${i}`);

export const valuesOf = (row: Record<string, unknown>, columns: readonly BackupColumn[]): BackupValue[] =>
  columns.map((_, i) => (row[`c${i}`] ?? null) as BackupValue);
