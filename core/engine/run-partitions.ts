/** Begins a new partition of a server's tables when the time of the current one is over, and keeps the statistics of the whole. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../db/database.ts';
import type { PartitionInterval } from '../db/partition/partitions.ts';
import { LOCK_TIMEOUT } from '../db/sqlstates.ts';
import { DatabaseError, reasonOf } from '../errors.ts';
import type { Logger } from '../log.ts';

const LOOK_MS = 15_000;
const MANY = 24; // statements are planned for each

type Deps = {
  database: Pick<Database, 'execute'>;
  interval: Exclude<PartitionInterval, ''>;
  log: Logger;
  signal: AbortSignal;
};

/**
 * Runs four times a minute until the signal, in any number of processes: one of them is first. Until a partition has begun, rows are stored in
 * the one before. Where somebody reads the tables for long, as a backup does, that is until they are done.
 */
export function runPartitions({ database, interval, log, signal }: Deps): void {
  const look = async () => {
    const changed = await database.execute('changePartition', { interval });
    if (changed) {
      const { length: partitions } = await database.execute('partitions', {});
      log.info({ interval, partitions }, 'A new partition has begun');
      if (partitions > MANY)
        log.warn(
          { partitions },
          'Many partitions slow every statement: drop some by retention, or have storage.partitioned be longer',
        );
    }
    if (await database.execute('analyzePartitioned', {})) log.debug('statistics of the partitioned tables were taken');
  };
  const loop = async () => {
    while (!signal.aborted) {
      await look().catch((error: unknown) => {
        if (signal.aborted || (error instanceof DatabaseError && error.sqlstate === LOCK_TIMEOUT)) return;
        log.warn({ reason: reasonOf(error) }, 'a new partition could not be begun; it is tried again');
      });
      await sleep(LOOK_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  };
  void loop();
}
