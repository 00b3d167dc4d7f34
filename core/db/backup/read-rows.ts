/** Reads a table for a backup page by page, each in a statement of its own, so that the service goes on meanwhile. */
import { type SQL, sql } from 'drizzle-orm';
import type { Sql } from '../sql.ts';
import { alias, type BackupColumn, type BackupValue, plainTexts, selection, valuesOf } from './columns.ts';
import { type BackupMarks, KEPT_TABLES } from './kept-tables.ts';

/** `next`: the key of the last row, after which the next page begins; null: that was the last page. */
export type BackupPage = { rows: BackupValue[][]; next: string[] | null };

const PAGE = { rows: 500, bytes: 2 * 1024 * 1024 };

/** A page of one of the service's tables. @param after the key after which it begins; null: at the first row */
export function backupRows(
  db: Sql,
  {
    table,
    columns,
    marks,
    after,
  }: { table: string; columns: BackupColumn[]; marks: BackupMarks; after: string[] | null },
): Promise<BackupPage> {
  const kept = KEPT_TABLES.find(({ name }) => name === table);
  if (!kept) throw new Error(`Cannot back up '${table}': it is not in the list`);
  const { from, where } = kept.source?.(marks) ?? { from: sql`${sql.raw(table)} t`, where: sql`true` };
  return page(db, { from, where, columns, instead: kept.instead ?? {}, key: kept.key, after });
}

/** A page of a cassette's table. @param key empty: it has none, and is read in the order of its pages */
export const cassetteRows = (
  db: Sql,
  {
    schema,
    table,
    columns,
    key,
    after,
  }: { schema: string; table: string; columns: BackupColumn[]; key: string[]; after: string[] | null },
): Promise<BackupPage> =>
  page(db, {
    from: sql`${sql.identifier(schema)}.${sql.identifier(table)} t`,
    where: sql`true`,
    columns,
    instead: {},
    key: key.length > 0 ? key : ['ctid'],
    after,
  });

type PageRequest = {
  from: SQL;
  where: SQL;
  columns: readonly BackupColumn[];
  instead: Readonly<Record<string, SQL>>;
  key: readonly string[];
  after: readonly string[] | null;
};

/** Up to so many rows, and of large ones fewer, but at least one. The bytes are counted as they are stored, without reading long values. */
const page = (db: Sql, { from, where, columns, instead, key, after }: PageRequest): Promise<BackupPage> =>
  db.transaction(async (tx) => {
    await plainTexts(tx);
    const keyColumns = sql.join(
      key.map((name) => sql`t.${sql.identifier(name)}`),
      sql`, `,
    );
    const start = after
      ? sql`(${keyColumns}) > (${sql.join(
          after.map((text) => sql`${text}`),
          sql`, `,
        )})`
      : sql`true`;
    const size = sql.join(
      columns.map(({ name }) => sql`coalesce(pg_column_size(t.${sql.identifier(name)}), 0)`),
      sql` + `,
    );
    const keyTexts = sql.join(
      key.map((name, i) => sql`t.${sql.identifier(name)}::text as ${alias('k', i)}`),
      sql`, `,
    );
    const [bound] = await tx.rows<{ rows: number; more: boolean }>(sql`
      with sized as (
        select sum(s.size) over (order by s.place) - s.size as before
          from (select row_number() over (order by ${keyColumns}) as place, ${size} as size
                  from ${from} where ${start} and ${where} order by ${keyColumns} limit ${PAGE.rows}) s)
      select count(*) filter (where before < ${PAGE.bytes}) as rows, count(*) >= ${PAGE.rows} or bool_or(before >= ${PAGE.bytes}) as more
        from sized`);
    const found = await tx.rows(sql`
      select ${selection(columns, instead)}, ${keyTexts}
        from ${from} where ${start} and ${where} order by ${keyColumns} limit ${bound?.rows ?? 0}`);
    const last = found.at(-1);
    return {
      rows: found.map((row) => valuesOf(row, columns)),
      next: bound?.more && last ? key.map((_, i) => String(last[`k${i}`])) : null,
    };
  });
