/** Brings the database of a server to the form that this version uses: migrates it, and distributes or partitions it where the settings say so. */
import type { Logger } from '../log.ts';
import type { Distribution } from './client/connection.ts';
import { openPool, type Server } from './client/server.ts';
import { distribute, mendViews, requireCitus } from './distribute/distribute.ts';
import { logMigration } from './log-migration.ts';
import { migrate } from './migrate.ts';
import { readMigrations } from './migrations.ts';
import { partition } from './partition/partitioned-tables.ts';
import type { PartitionInterval } from './partition/partitions.ts';

/** `storage.distributed` and `storage.partitioned`; where one is empty, a database that is distributed or partitioned is used as it is. */
export type ServerDatabase = Pick<Server, 'dsn' | 'pooled'> & {
  distributed: Distribution;
  partitioned: PartitionInterval;
};

/** Any number of processes may do so at once. @throws what `migrate`, `distribute` and `partition` do, and where the database does not answer */
export async function prepareServer(
  { dsn, pooled, distributed, partitioned }: ServerDatabase,
  log: Logger,
): Promise<void> {
  const pool = openPool({ dsn, pooled, size: 1 });
  const sql = pool.sqlFor(Number.POSITIVE_INFINITY);
  try {
    if (distributed === 'citus') await requireCitus(sql);
    const applied = await migrate(sql, await readMigrations(), { ownSession: !pooled, begins: logMigration(log) });
    if (applied.length > 0) log.info({ applied: applied.length, last: applied.at(-1) }, 'The database was migrated');
    if (distributed === 'citus') {
      const tables = await distribute(sql);
      if (tables.length > 0) log.info({ tables }, 'Tables were distributed over the workers of the cluster');
    } else if (applied.length > 0) await mendViews(sql);
    if (partitioned !== '' && (await partition(sql))) log.info('The large tables were partitioned');
  } finally {
    await pool.close();
  }
}
