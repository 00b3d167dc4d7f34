/**
 * The backing of a role by itself on a PostgreSQL server. It listens at once: the database may be away or of an older version, and is
 * waited for and migrated.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { connectServer } from '../../db/client/server.ts';
import type { Engine } from '../../engine/engine.ts';
import { aboutService } from './about-service.ts';
import type { Cassettes } from './cassettes.ts';
import { databaseGate } from './database-gate.ts';
import { type Backing, together } from './listening.ts';
import { POOL_SIZES } from './pool-sizes.ts';
import { databaseReadiness } from './readiness.ts';
import type { LoneRole } from './role.ts';
import type { Closing, ServiceParts } from './service-parts.ts';

const STATEMENT_TIMEOUT_MS = 60_000;
const CASSETTES_MS = 750; // for their background work, after the listeners are closed: what is cut off is done again

type Parts = Pick<ServiceParts, 'loaded' | 'io' | 'log' | 'pid'> & { role: LoneRole };

/** @param closing registers what is to be closed */
export function withServer({ loaded, io, log, pid, role }: Parts, closing: Closing): Backing {
  const { config, folder } = loaded;
  const { postgres_dsn: dsn, pooled, distributed, partitioned } = config.storage;
  const { listeners: size, engine } = POOL_SIZES[role];
  const server = { dsn, pooled, statementTimeoutMs: STATEMENT_TIMEOUT_MS };
  const { database, reachable, closedBecause, opened } = databaseGate(connectServer({ ...server, size }));
  closing(() => database.close());
  const connection: Backing['connection'] = () => ({
    kind: 'server',
    ...server,
    distributed,
    partitioned,
    size: engine,
  });
  const databaseReady = databaseReadiness({ execute: database.execute, closedBecause, writes: role !== 'api' });

  let stopping = false;
  const startCassettes = async (cassettes: Cassettes) => {
    await opened;
    if (stopping) return;
    await cassettes.start().catch((error: Error) => log.error({ reason: error.message }, 'Cannot start the cassettes'));
  };
  return {
    connection,
    reach: true,
    reachable,
    listen: async (process) => {
      if (role === 'derive') {
        const { openInternal } = await import('./internal-listener.ts');
        return together(async (register) => ({
          ...{ proxy: [], api: [], ingest: [] },
          internal: await openInternal({ ...process, databaseReady }, register),
        }));
      }
      const { openApiListeners, openIngestListeners } = await import('./listeners.ts');
      const parts = { ...process, engine: openedEngine(process.engine, opened), database, databaseReady };
      if (role === 'ingest') return openIngestListeners(parts);
      const { openCassettes } = await import('./cassettes.ts');
      const cassettes = openCassettes({
        config,
        database: { ...database, connection },
        folder,
        io,
        log,
        ownFolder: false,
      });
      closing(() => {
        stopping = true;
        return cassettes.close(CASSETTES_MS);
      });
      const listeners = await openApiListeners({
        ...{ ...parts, cassettes },
        about: aboutService(loaded, { cwd: io.cwd, pid }),
      });
      void startCassettes(cassettes);
      return listeners;
    },
  };
}

const FIRST_MS = 2_000; // as a start takes, where the database is there

/** The engine for who sends turns: before the database was reached they are to send again, instead of waiting until that is too late. */
function openedEngine(engine: Engine, opened: Promise<void>): Engine {
  let isOpen = false;
  void opened.then(() => {
    isOpen = true;
  });
  const whenOpen = async <Verdict>(append: () => Promise<Verdict>) => {
    if (!isOpen) await Promise.race([opened, sleep(FIRST_MS, null, { ref: false })]);
    return isOpen ? append() : UNAVAILABLE;
  };
  return {
    ...engine,
    ingest: (body, subject) => whenOpen(() => engine.ingest(body, subject)),
    transcript: (body, subject) => whenOpen(() => engine.transcript(body, subject)),
  };
}

const UNAVAILABLE = { kind: 'unavailable', error: 'Cannot keep anything yet: the database was not reached' } as const;
