/** The partitions of a server's tables: which there are, and the change to a new one. */
import { sql } from 'drizzle-orm';
import { instant } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { countPurge, stopWriters } from '../store/purge-count.ts';

/** The partition of sessions that stay when theirs is dropped. */
export const KEPT = -1;

/** Of which each partition has a table. */
export const PARTITIONED = ['raw_turns', 'nodes', 'spans', 'slices'] as const;
export type Partitioned = (typeof PARTITIONED)[number];

/** The table of a partition, in the schema `svc`. */
export const partitionTable = (table: Partitioned, partition_no: number): string =>
  partition_no === KEPT ? `${table}_kept` : `${table}_p${partition_no}`;

/** `storage.partitioned`: how long rows are stored in one partition; empty: the tables are not partitioned. */
export type PartitionInterval = '' | 'day' | 'week' | 'month';

/** `ended_at` null: rows are stored in it now. `leaving`: the setting of retention by which it is being dropped. */
export type Partition = { partition_no: number; ended_at: string | null; leaving: string | null };

/** All but the kept one, the oldest first; none where the tables are not partitioned. */
export const partitions = (db: Sql, _args: Record<string, never>): Promise<Partition[]> =>
  db.rows<Partition>(sql`
    select partition_no, ${instant(sql`ended_at`)} as ended_at, leaving
      from svc.partitions where partition_no <> ${KEPT} order by partition_no`);

/**
 * Begins a new partition where the time of the current one is over. Nobody stores or reads anything for the moment that it takes; where
 * somebody reads for longer, it is given up.
 * @returns whether a partition was begun; false as well where the tables are not partitioned
 * @throws {DatabaseError} LOCK_TIMEOUT: to be retried
 */
export const changePartition = (
  db: Sql,
  { interval }: { interval: Exclude<PartitionInterval, ''> },
): Promise<boolean> =>
  db.transaction(async (tx) => {
    const isOver = sql`
      select partition_no from svc.partitions
       where began_at is not null and ended_at is null
         and date_trunc(${interval}, began_at at time zone 'UTC') < date_trunc(${interval}, now() at time zone 'UTC')`;
    if ((await tx.rows(isOver)).length === 0) return false;
    await lockTables(tx);
    const [current] = await tx.rows<{ partition_no: number }>(isOver); // another process may have been first
    if (!current) return false;
    await openPartition(tx, current.partition_no + 1);
    return true;
  });

/** Until the transaction ends nobody else reads or writes the partitioned tables. @throws {DatabaseError} LOCK_TIMEOUT */
export async function lockTables(tx: Sql): Promise<void> {
  await tx.rows(sql`select set_config('lock_timeout', '200ms', true)`); // all who come later wait behind this
  await stopWriters(tx);
  await tx.rows(
    sql.raw(`lock table ${PARTITIONED.map((table) => `svc.${table}`).join(', ')} in access exclusive mode`),
  );
}

/** In a transaction that holds the tables' locks. Slices that were stored until then count as unknown: a turn's slices are in its partition. */
export async function openPartition(tx: Sql, partition_no: number): Promise<void> {
  for (const table of PARTITIONED) await addPartition(tx, table, partition_no);
  for (const table of [...PARTITIONED, 'sessions'])
    await tx.rows(sql.raw(`alter table svc.${table} alter column partition_no set default ${partition_no}`));
  await tx.rows(sql`update svc.partitions set ended_at = now() where began_at is not null and ended_at is null`);
  await tx.rows(sql`insert into svc.partitions (partition_no, began_at) values (${partition_no}, now())`);
  await tx.rows(sql`update svc.installation set partition_no = ${partition_no}`);
  await countPurge(tx);
}

/** Empty, with the indexes of the whole. */
export const addPartition = (tx: Sql, table: Partitioned, partition_no: number): Promise<unknown> =>
  tx.rows(
    sql.raw(
      `create table svc.${partitionTable(table, partition_no)} partition of svc.${table} for values in (${partition_no})`,
    ),
  );

/**
 * Takes statistics of the whole tables, by which joins are planned, when their rows have become a fifth more or fewer: a server by itself
 * takes those of each partition only, and without the others a derivation takes a hundred times as long.
 * @returns whether it was done here; one process does it at a time
 */
export async function analyzePartitioned(db: Sql, _args: Record<string, never>): Promise<boolean> {
  const grown = await db.rows(sql`
    with counted as (
      select coalesce(sum(l.n_live_tup), 0)::bigint as rows
        from pg_inherits i join pg_stat_all_tables l on l.relid = i.inhrelid
       where i.inhparent in (${sql.join(
         PARTITIONED.map((table) => sql`${`svc.${table}`}::regclass`),
         sql`, `,
       )}))
    update svc.installation i set analyzed_rows = c.rows
      from counted c
     where c.rows > 1000 and c.rows not between 0.8 * i.analyzed_rows and 1.2 * i.analyzed_rows
    returning 1 as one`);
  if (grown.length === 0) return false;
  for (const table of PARTITIONED) await db.rows(sql.raw(`analyze svc.${table}`));
  return true;
}
