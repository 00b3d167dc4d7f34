/** Upserts of many rows, passed as JSON: statements whose texts are made once, from a table's columns. */
import { type SQL, sql } from 'drizzle-orm';
import type { PgType } from '../columns/column.ts';
import { sparseRows, type Usual } from '../sparse-rows.ts';
import type { Sql } from '../sql.ts';
import { jsonBatches } from './json-batches.ts';

/** `Later`: the columns whose values only the transaction knows. */
type Upsert<Row, Key extends keyof Row, Later extends keyof Row> = {
  /** A row as the JSON text that `write` takes, in any thread. @param other values that the row lacks, or has otherwise */
  text<Other extends Partial<Row>>(row: Omit<Row, Later | keyof Other>, other?: Other): string;
  /** Inserts or updates rows; an identical row is not written. Resolves to the keys of those that were written. */
  write(tx: Sql, rows: Iterable<string>): Promise<Pick<Row, Key>[]>;
  /** The same without the keys, for a caller to whom they are no news: to return them takes a tenth of the time. */
  writeOnly(tx: Sql, rows: Iterable<string>): Promise<[]>;
};

type Options<Row> = {
  /** Columns that are written with the others, and do not make a row different by themselves. */
  ignored?: readonly (keyof Row & string)[];
  /** Columns that a row has for good: they are written with a new one only. */
  inserted?: readonly (keyof Row & string)[];
  /** The constraint that a second row with the key would violate; default: that of the key's columns alone. */
  constraint?: string;
  usual?: Usual<Row>;
};

/** The upsert into a table with these columns; `bytea` values are PostgreSQL's text form of them. */
export function upsertInto<Row extends object, Key extends keyof Row & string, Later extends keyof Row = never>(
  table: string,
  key: readonly Key[],
  types: Record<keyof Row & string, PgType>,
  { ignored = [], inserted = [], constraint, usual = {} }: Options<Row> = {},
): Upsert<Row, Key, Later> {
  const names = Object.keys(types) as (keyof Row & string)[];
  const others = names.filter((name) => ![...key, ...inserted].includes(name));
  const compared = others.filter((name) => !(ignored as readonly string[]).includes(name));
  const list = (of: readonly string[], prefix = '') => of.map((name) => `${prefix}${name}`).join(', ');
  const { text, received } = sparseRows<Row>(names, usual);
  const definition = Object.entries(types).map(([name, type]) => `${name} ${type}`);
  const insert = sql.raw(`insert into ${table} as t (${list(names)}) select ${names.map(received).join(', ')}`);
  const row = sql.raw(`as r (${definition.join(', ')})`);
  const update = sql.raw(others.map((name) => `${name} = excluded.${name}`).join(', '));
  const conflict = sql.raw(constraint ? `on constraint ${constraint}` : `(${list(key)})`);
  const changed = sql.raw(`(${list(compared, 't.')}) is distinct from (${list(compared, 'excluded.')})`);
  const statement = (batch: string): SQL => sql`
    ${insert}
      from json_to_recordset(${batch}::json) ${row}
    on conflict ${conflict} do update set ${update}
     where ${changed}`;
  const returning = sql.raw(`returning ${list(key, 't.')}`);
  return {
    text: (row, other) => text(row as Partial<Row>, other),
    write: async (tx, rows) => {
      const written: Pick<Row, Key>[] = [];
      for (const batch of jsonBatches(rows)) {
        const returned = await tx.rows<Pick<Row, Key>>(sql`${statement(batch)} ${returning}`);
        for (const row of returned) written.push(row);
      }
      return written;
    },
    writeOnly: async (tx, rows) => {
      for (const batch of jsonBatches(rows)) await tx.rows(statement(batch));
      return [];
    },
  };
}
