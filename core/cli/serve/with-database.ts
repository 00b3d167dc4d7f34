/** The backing of a service with all of it, and of the ingest API on an embedded database: the database is opened first. */
import { isMade } from '../../db/client/data-folder.ts';
import { findTemplate } from '../../db/client/template.ts';
import { openDatabase } from '../../db/open.ts';
import { whereData } from '../where-data.ts';
import { aboutService } from './about-service.ts';
import type { Backing } from './listening.ts';
import { POOL_SIZES } from './pool-sizes.ts';
import { databaseReadiness } from './readiness.ts';
import type { Closing, ServiceParts } from './service-parts.ts';

const CASSETTES_MS = 750; // for their background work, after the listeners are closed: what is cut off is done again

type Parts = Pick<ServiceParts, 'loaded' | 'io' | 'log' | 'pid' | 'startThread'> & { journal: unknown };

/** @param closing registers what is to be closed @throws {OperatorError} the folder is in use, or the database cannot be reached */
export async function withDatabase(
  { loaded, io, log, pid, journal, startThread }: Parts,
  closing: Closing,
): Promise<Backing> {
  const { config, folder } = loaded;
  const { postgres_dsn: dsn, pooled, distributed, partitioned } = config.storage;
  const template = dsn === '' && !isMade(folder) ? await findTemplate() : undefined;
  if (template === null) io.out(`\nMaking a database in ${whereData(dsn, folder)}: some seconds, once …\n`);
  const [database, { openListeners, openIngestListeners }, { openCassettes }] = await Promise.all([
    openDatabase({
      ...{ dsn, pooled, distributed, partitioned, folder, log, isLocked: journal !== null },
      ...{ size: POOL_SIZES.all.listeners, threadSize: POOL_SIZES.all.engine },
      ...(template !== undefined && { template }),
      ...(startThread && { startThread }),
    }).then(async (opened) => {
      closing(() => opened.close());
      return opened;
    }),
    import('./listeners.ts'), // loaded while the database opens, since both take long
    import('./cassettes.ts'),
  ]);
  return {
    connection: () => database.connection(),
    reach: false,
    listen: async (parts) => {
      const databaseReady = databaseReadiness({ execute: database.execute, writes: true });
      if (!parts.journal) return openIngestListeners({ ...parts, database, databaseReady });
      const cassettes = openCassettes({ config, database, folder, io, log });
      closing(() => cassettes.close(CASSETTES_MS));
      const listeners = await openListeners({
        ...{ ...parts, database, databaseReady, cassettes },
        about: aboutService(loaded, { cwd: io.cwd, pid }),
      });
      await cassettes.start().catch(async (error: unknown) => {
        await listeners.close(0);
        throw error;
      });
      return listeners;
    },
  };
}
