/** Starts the cassettes of a process: the host with the bindings that it gives out, and the lists as they are edited. */
import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { coreSettings } from '../../cassette/admission/core-settings.ts';
import type { Env } from '../../cassette/contract.ts';
import { coreBinding } from '../../cassette/core-binding.ts';
import { openCassetteDatabases } from '../../cassette/database/cassette-databases.ts';
import { type CassetteHost, openHost } from '../../cassette/host.ts';
import { openSharedProcess } from '../../cassette/isolation/shared.ts';
import { listFiles } from '../../cassette/list/read-list.ts';
import { watchLists } from '../../cassette/list/watch-lists.ts';
import { readCredentials } from '../../config/credentials.ts';
import type { Config } from '../../config/schema.ts';
import type { OpenDatabase } from '../../db/open.ts';
import type { Logger } from '../../log.ts';
import type { Io } from '../io.ts';

type Parts = {
  config: Config;
  database: OpenDatabase;
  folder: string;
  io: Io;
  log: Logger;
  /** Whether this process holds the folder's lock: else others may use it at the same time. */
  ownFolder?: boolean;
};

export type Cassettes = {
  host: CassetteHost;
  /** Sets the read API to which `env.CORE` leads, once it is there. */
  connect(fetch: (request: Request) => Response | Promise<Response>): void;
  /** Reads the lists and begins admission; returns before any cassette is admitted. */
  start(): Promise<void>;
  close(graceMs: number): Promise<void>;
};

export function openCassettes({ config, database, folder, io, log, ownFolder = true }: Parts): Cassettes {
  const { postgres_dsn: dsn, pooled } = config.storage;
  const databases = openCassetteDatabases({ database, dsn, pooled, log });
  const tmp = ownFolder ? join(folder, 'run') : join(tmpdir(), `svc-run-${randomUUID()}`);
  let core: (request: Request) => Response | Promise<Response> = () => new Response(null, { status: 503 });
  const CORE: NonNullable<Env['CORE']> = coreBinding((request) => core(request));
  const host = openHost({
    installed: join(folder, 'cassettes'),
    databases,
    core: CORE,
    environment: io.env,
    coreSettings: coreSettings(config, readCredentials(folder, io.env), folder),
    shared: openSharedProcess({
      log,
      environment: io.env,
      changes: (seen) => database.execute('changedSince', { seen }),
    }),
    tmp,
    basePath: config.api.base_path,
    log,
    now: Date.now,
  });
  let watching: { close(): void } | null = null;
  return {
    host,
    connect: (fetch) => {
      core = fetch;
    },
    async start() {
      if (ownFolder) await rm(tmp, { recursive: true, force: true }); // left by a process that was killed
      await mkdir(tmp, { recursive: true, mode: 0o700 });
      watching = await watchLists({
        ...listFiles({ cwd: io.cwd, folder, built_in: config.cassettes.built_in }),
        onChange: ({ list, loaded_at, problem, folderOf }) => {
          if (problem !== null) log.warn({ reason: problem }, 'the list of cassettes cannot be read');
          void host.apply({ entries: list, loaded_at, problem, folderOf });
        },
      });
    },
    async close(graceMs) {
      watching?.close();
      await host.close(graceMs);
      await databases.close();
      if (!ownFolder) await rm(tmp, { recursive: true, force: true });
    },
  };
}
