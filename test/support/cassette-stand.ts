/** A first-party cassette as it is in the service: admitted by the real host, with a real database and the real read API. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readApi } from '../../core/api/app.ts';
import { grantsFor } from '../../core/cassette/admission/grants.ts';
import { parseManifest } from '../../core/cassette/admission/manifest.ts';
import type { Manifest } from '../../core/cassette/contract.ts';
import { coreBinding } from '../../core/cassette/core-binding.ts';
import { openCassetteDatabases } from '../../core/cassette/database/cassette-databases.ts';
import { openHost } from '../../core/cassette/host.ts';
import { openSharedProcess } from '../../core/cassette/isolation/shared.ts';
import { ListEntry } from '../../core/cassette/list/list.ts';
import { openLog } from '../../core/log.ts';
import { openMetrics } from '../../core/metrics.ts';
import { packageRoot } from '../../core/package-root.ts';
import type { TestDatabase } from './databases.ts';
import { everySourceTried } from './every-source-tried.ts';

type CassetteStandOptions = {
  /** Of `cassettes/<folder>/cassette.ts`. */
  folder: string;
  manifest: Manifest;
  /** Installed name; default: the folder's. */
  name?: string;
  config?: Record<string, unknown>;
  environment?: Record<string, string>;
  /** Whether `x-svc-auth-subject` is trusted. */
  trustCallerHeader?: boolean;
  /** Runs it in the process that the cassettes of the service share, which ends after that idle time. */
  shared?: { idleMs: number };
  /** Its background work also runs soon after a change, where its manifest has that; false: only at its interval, so that a test knows when. */
  onChange?: boolean;
  /** false: the service has none. */
  withDatabase?: boolean;
};

/** @returns after admission has run: `shown()` returns its result */
export async function standCassette(database: TestDatabase, options: CassetteStandOptions) {
  const { folder, manifest, name = folder, withDatabase = true } = options;
  const log = openLog('silent');
  const tmp = await mkdtemp(join(tmpdir(), 'svc-stand-'));
  const opened = withDatabase ? openCassetteDatabases({ database, dsn: database.dsn ?? '', pooled: false, log }) : null;
  const quiet = { changes: async (seen: string) => ({ seen, changed: false }) };
  const databases = opened && { ...opened, ...(options.onChange ? {} : quiet) };
  const shared =
    options.shared &&
    openSharedProcess({
      ...{ log, environment: process.env, idleMs: options.shared.idleMs },
      changes: (seen) => database.execute('changedSince', { seen }),
    });
  const host = openHost({
    ...(shared ? { shared } : {}),
    ...{ installed: tmp, tmp, databases, log, now: Date.now, environment: options.environment ?? {} },
    core: coreBinding((request) => api.fetch(request)),
    retryMs: { first: 50, most: 500 },
    refreshMs: 500,
  });
  const api = readApi({
    ...{
      execute: database.execute,
      log,
      metrics: openMetrics('all', '0.0.0'),
      version: '0.0.0',
      allowedHosts: [],
      token: '',
    },
    append: () => Promise.reject(new Error('no engine')),
    now: Date.now,
    trustCallerHeader: options.trustCallerHeader ?? false,
    cassettes: host,
  });
  const entry = ListEntry.parse({
    ...{ name, source: join('cassettes', folder, 'cassette.ts'), config: options.config ?? {} },
    ...(shared ? {} : { isolation: 'inline' }),
    grants: grantsFor(parseManifest(manifest)),
  });
  void host.apply({ entries: [entry], loaded_at: '2026-11-21T09:00:00Z', problem: null, folderOf: packageRoot });
  await everySourceTried(host);
  return {
    /** A request below `/v1/cassettes/<name>`, or to any other path of the read API. */
    ask: (path: string, init: RequestInit = {}): Promise<Response> =>
      Promise.resolve(
        api.fetch(
          new Request(`http://localhost${path.startsWith('/v1/') ? path : `/v1/cassettes/${name}${path}`}`, init),
        ),
      ),
    shown: () => host.installed()[0],
    /** Of its cassette; null: the service has no database. */
    databases,
    /** Of the shared process; null: none runs. */
    pid: () => shared?.pid() ?? null,
    async close() {
      await host.close(0);
      await databases?.close();
      await rm(tmp, { recursive: true, force: true });
    },
  };
}
