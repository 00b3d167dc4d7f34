/** Opens the database of this process: the embedded one in its folder, or a server. It is migrated before its first use. */
import { DatabaseError, OperatorError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { connectDatabase, type DatabaseConnection, type Distribution } from './client/connection.ts';
import { isMade, refuseUnusable } from './client/data-folder.ts';
import { noteUse, refuseOtherPostgres } from './client/data-version.ts';
import { startDatabaseThread } from './client/database-thread.ts';
import { hostEmbedded, type StartThread } from './client/embedded-host.ts';
import { lockFolder } from './client/folder-lock.ts';
import { findTemplate } from './client/template.ts';
import type { Database } from './database.ts';
import type { PartitionInterval } from './partition/partitions.ts';

export type OpenDatabase = Database & {
  /** For another thread, once each: `startWorker(name, { connection }, transferables(connection))`. (connection.ts) */
  connection(): DatabaseConnection;
};

type Options = {
  /** Empty: the embedded database. */
  dsn: string;
  pooled: boolean;
  /** Of a server. (prepare-server.ts) */
  distributed?: Distribution;
  partitioned?: PartitionInterval;
  /** `.svc`: the embedded database is in its subfolder `data`. */
  folder: string;
  log: Logger;
  /** Whether the caller holds the folder's lock already. */
  isLocked?: boolean;
  /** The limit of a statement; a few operations have a longer one (operations.ts). */
  statementTimeoutMs?: number;
  /** Connections to a server: of this thread, and of each other. */
  size?: number;
  threadSize?: number;
  startThread?: StartThread;
  /** What a new embedded database is copied from; null: it is created. Default: the template of this build, where there is one. */
  template?: string | null;
};

const STATEMENT_TIMEOUT_MS = 60_000;
const SERVER_POOL = 10;

/** @throws {OperatorError} the folder is in use, or the database is not one for this version or its PostgreSQL */
export const openDatabase = (options: Options): Promise<OpenDatabase> =>
  options.dsn === '' ? openEmbeddedDatabase(options) : openServerDatabase(options);

async function openServerDatabase({
  dsn,
  pooled,
  distributed = '',
  partitioned = '',
  log,
  statementTimeoutMs = STATEMENT_TIMEOUT_MS,
  size = SERVER_POOL,
  threadSize,
}: Options): Promise<OpenDatabase> {
  const [{ connectServer }, { prepareServer }] = await Promise.all([
    import('./client/server.ts'), // with all operations, which the thread of an embedded database loads by itself
    import('./prepare-server.ts'),
  ]);
  const server = { dsn, pooled, distributed, partitioned };
  try {
    await prepareServer(server, log);
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    throw new OperatorError(`Cannot use the database of storage.postgres_dsn: ${error.message}`, 1, { cause: error });
  }
  return {
    ...connectServer({ dsn, pooled, size, statementTimeoutMs }),
    connection: () => ({
      ...{ kind: 'server', ...server, statementTimeoutMs },
      ...(threadSize !== undefined && { size: threadSize }),
    }),
  };
}

async function openEmbeddedDatabase(options: Options): Promise<OpenDatabase> {
  const { folder, log, statementTimeoutMs = STATEMENT_TIMEOUT_MS } = options;
  const startThread = options.startThread ?? startDatabaseThread;
  const unlock = options.isLocked ? async () => {} : await lockFolder(folder);
  try {
    refuseUnusable(folder);
    refuseOtherPostgres(folder);
    const template =
      options.template !== undefined || isMade(folder) ? (options.template ?? null) : await findTemplate();
    const host = await hostEmbedded({ folder, log, statementTimeoutMs, startThread, template });
    const ownConnection = await connectDatabase(host.connection());
    noteUse(folder);
    const end = async () => {
      await ownConnection.close();
      await host.close();
      await unlock();
    };
    let ended: Promise<void> | undefined;
    return {
      ...ownConnection,
      connection: host.connection,
      close: () => {
        ended ??= end();
        return ended;
      },
    };
  } catch (error) {
    await unlock();
    throw error;
  }
}
