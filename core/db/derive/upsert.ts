/** Upserts of many rows, passed as JSON: statements whose texts are made once, from a table's columns. */
import { sql } from 'drizzle-orm';
import type { PgType } from '../columns/column.ts';
import type { Sql } from '../sql.ts';
import { jsonBatches } from './json-batches.ts';

/** Inserts or updates rows; an identical row is not written. Resolves to how many were written. */
type Upsert<Row> = (tx: Sql, rows: readonly Row[]) => Promise<number>;

/** The upsert into a table with these columns; `bytea` values are PostgreSQL's text form of them. */
export function upsertInto<Row extends object>(
  table: string,
  key: readonly (keyof Row & string)[],
  types: Record<keyof Row & string, PgType>,
): Upsert<Row> {
  const names = Object.keys(types);
  const others = names.filter((name) => !(key as readonly string[]).includes(name));
  const list = (of: readonly string[], prefix = '') => of.map((name) => `${prefix}${name}`).join(', ');
  const definition = Object.entries(types).map(([name, type]) => `${name} ${type}`);
  const insert = sql.raw(`insert into ${table} as t (${list(names)}) select ${list(names, 'r.')}`);
  const row = sql.raw(`as r (${definition.join(', ')})`);
  const update = sql.raw(others.map((name) => `${name} = excluded.${name}`).join(', '));
  const conflict = sql.raw(list(key));
  const changed = sql.raw(`(${list(others, 't.')}) is distinct from (${list(others, 'excluded.')})`);
  return async (tx, rows) => {
    let written = 0;
    for (const batch of jsonBatches(rows)) {
      const returned = await tx.rows(sql`
        ${insert}
          from json_to_recordset(${batch}::json) ${row}
        on conflict (${conflict}) do update set ${update}
         where ${changed}
        returning 1`);
      written += returned.length;
    }
    return written;
  };
}
