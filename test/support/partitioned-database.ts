/** A server's database whose large tables are partitioned, and the passage of its partitions' time. */
import { openPool } from '../../core/db/client/server.ts';
import { partition } from '../../core/db/partition/partitioned-tables.ts';
import { serverDatabase, type TestDatabase } from './databases.ts';

export async function partitionedDatabase(dsn: string): Promise<TestDatabase> {
  const database = await serverDatabase(dsn);
  await partitionNow(database);
  return database;
}

/** What is stored until now becomes the first partition. @returns whether it was not partitioned yet */
export async function partitionNow({ dsn = '' }: Pick<TestDatabase, 'dsn'>): Promise<boolean> {
  const pool = openPool({ dsn, pooled: false, size: 1 });
  try {
    return await partition(pool.sqlFor(60_000));
  } finally {
    await pool.close();
  }
}

/** Begins a new partition, as if the current one were two months old. @param ended the instant at which the closed ones end */
export async function changePartition({ sql, execute }: TestDatabase, ended?: string): Promise<void> {
  await sql(`
    update svc.partitions set began_at = began_at - interval '62 days' where ended_at is null and began_at is not null`);
  if (!(await execute('changePartition', { interval: 'month' }))) throw new Error('Cannot begin a partition');
  if (ended) await sql('update svc.partitions set ended_at = $1 where ended_at is not null', [ended]);
}

/** The tables of a table's partitions. */
export const tablesOf = async ({ sql }: TestDatabase, table: string): Promise<string[]> =>
  (
    await sql(
      `select c.relname as name from pg_partition_tree('svc.${table}') t join pg_class c on c.oid = t.relid where t.isleaf order by 1`,
    )
  ).map(({ name }) => String(name));
