/** Gives the space of deleted rows back: on the embedded database by writing a table afresh, on a server as far as a vacuum can. */
import { sql } from 'drizzle-orm';
import type { Sql } from '../sql.ts';

/** `bytes`: with its indexes. */
export type TableSize = { name: string; bytes: number };

/** The service's own tables, the smallest first, and what the whole database takes. */
export async function tableSizes(
  db: Sql,
  _args: Record<string, never>,
): Promise<{ kind: Sql['kind']; tables: TableSize[]; bytes: number }> {
  const tables = await db.rows<TableSize>(sql`
    select format('svc.%I', c.relname) as name, svc.table_bytes(c.oid) as bytes
      from pg_class c
     where c.relnamespace = 'svc'::regnamespace and c.relkind = 'r'
     order by bytes, name`);
  const [database] = await db.rows<{ bytes: number }>(sql`select svc.database_bytes() as bytes`);
  return { kind: db.kind, tables, bytes: database?.bytes ?? 0 };
}

/** @param name as `tableSizes` has it. @returns what the table takes afterwards */
export async function rewriteTable(db: Sql, { name }: { name: string }): Promise<number> {
  await db.rows(sql`vacuum ${sql.raw(db.kind === 'embedded' ? '(full, analyze)' : '(analyze)')} ${sql.raw(name)}`);
  const [size] = await db.rows<{ bytes: number }>(sql`select svc.table_bytes(${name}::regclass) as bytes`);
  return size?.bytes ?? 0;
}

/**
 * Deletes the write-ahead log of the embedded database up to now. After a new segment and a checkpoint, no earlier segment is needed. But
 * the checkpoints before this have given segments that were no longer needed the names of later ones, and such a segment holds its former
 * bytes until it is written: so the log goes on, segment by segment, to one that is new. In one transaction, since a cassette's statement
 * in between would reset the setting.
 */
export async function dropLog(db: Sql, _args: Record<string, never>): Promise<void> {
  if (db.kind === 'server') return;
  await db.transaction(async (tx) => {
    await tx.rows(sql`set local wal_recycle = off`);
    const [recycled] = await tx.rows<{ segments: number }>(sql`
      select count(*) as segments from pg_ls_waldir() where name > pg_walfile_name(pg_current_wal_lsn())`);
    for (let left = recycled?.segments ?? 0; left >= 0; left--) {
      await tx.rows(sql`select pg_switch_wal()`);
      await tx.rows(sql`checkpoint`);
    }
  });
}
