/** The database that a backup is restored into: a new embedded one beside the existing one, or a server's in one transaction. */
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { LoadedConfig } from '../../config/load.ts';
import { dataFolder, isMade } from '../../db/client/data-folder.ts';
import { flushFolder, flushTree } from '../../db/client/flush.ts';
import { lockFolder } from '../../db/client/folder-lock.ts';
import { openPool } from '../../db/client/server.ts';
import type { Database } from '../../db/database.ts';
import { openDatabase } from '../../db/open.ts';
import { operations } from '../../db/operations.ts';
import type { Sql } from '../../db/sql.ts';
import { notEmpty } from '../../engine/backup/restore-backup.ts';
import { openLog } from '../../log.ts';

type Execute = Database['execute'];

/** `restore` writes the rows; `finish` works in the database that has them. Either may fail, and nothing is left of them then. */
export type RestoreSteps<T> = {
  restore: (execute: Execute) => Promise<void>;
  finish: (database: Database) => Promise<T>;
};

/** @throws {OperatorError} the database is not empty, or in use */
export const restoreInto = <T>(loaded: LoadedConfig, steps: RestoreSteps<T>): Promise<T> =>
  loaded.config.storage.postgres_dsn === '' ? intoEmbedded(loaded, steps) : intoServer(loaded, steps);

async function intoEmbedded<T>({ config, folder }: LoadedConfig, { restore, finish }: RestoreSteps<T>): Promise<T> {
  const log = openLog(config.log.level);
  const unlock = await lockFolder(folder);
  const made = join(folder, 'restoring');
  try {
    await rm(made, { recursive: true, force: true }); // of a restore that was interrupted
    if (isMade(folder)) {
      const existing = await openDatabase({ dsn: '', pooled: false, folder, log, isLocked: true });
      const { holds } = await existing.execute('openRestore', {}).finally(() => existing.close());
      if (holds !== null) throw notEmpty(holds);
    }
    await mkdir(made, { recursive: true, mode: 0o700 });
    if (isMade(folder)) await rename(dataFolder(folder).data, dataFolder(made).data); // empty, and of this version
    const database = await openDatabase({ dsn: '', pooled: false, folder: made, log });
    let result: T;
    try {
      await restore(database.execute);
      result = await finish(database);
    } finally {
      await database.close();
    }
    await flushTree(made);
    await rm(dataFolder(folder).data, { recursive: true, force: true }); // what is left of one that was never complete
    await rm(dataFolder(folder).making, { force: true });
    await rename(dataFolder(made).data, dataFolder(folder).data);
    await flushFolder(folder);
    return result;
  } finally {
    await rm(made, { recursive: true, force: true });
    await unlock();
  }
}

const LONGEST_MS = 2 ** 31 - 1;

async function intoServer<T>({ config, folder }: LoadedConfig, { restore, finish }: RestoreSteps<T>): Promise<T> {
  const { postgres_dsn: dsn, pooled } = config.storage;
  const database = await openDatabase({ dsn, pooled, folder, log: openLog(config.log.level) });
  try {
    const pool = openPool({ dsn, pooled, size: 1 });
    try {
      await pool.sqlFor(LONGEST_MS).transaction((tx) => restore(within(tx)));
    } finally {
      await pool.close();
    }
    return await finish(database);
  } finally {
    await database.close();
  }
}

/** All operations in one transaction. */
const within = (tx: Sql): Execute => {
  return (name, args) => {
    const operation = operations[name] as (sql: Sql, args: unknown) => Promise<never>;
    return operation(tx, args);
  };
};
