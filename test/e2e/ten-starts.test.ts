/** Ten processes of all roles start at once on an empty database: one migrates it, and all of them serve. */
import { sql } from 'drizzle-orm';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openPool } from '../../core/db/client/server.ts';
import { readMigrations } from '../../core/db/migrations.ts';
import { emptyServerDatabase } from '../support/databases.ts';
import { acceptedTurn, derivedSession, plainTurn } from '../support/post-turns.ts';
import {
  emptyFolder,
  eventually,
  type ProxyService,
  type RoleService,
  removeFolder,
  startProxyAlone,
  startRole,
  startService,
} from '../support/serve.ts';

const INTERNAL = { SVC_INTERNAL_LISTEN: '127.0.0.1:0', SVC_INTERNAL_TOKEN: 'planted-internal-token' };
const ROLES = ['all', 'proxy', 'proxy', 'api', 'api', 'ingest', 'ingest', 'derive', 'derive', 'derive'] as const;

const test = suite('ten starts at once (server)');

test('one migrates, ten serve', async () => {
  const { dsn, drop } = await emptyServerDatabase(process.env.SVC_TEST_DSN ?? '');
  const env = { ...INTERNAL, SVC_STORAGE_POSTGRES_DSN: dsn };
  const folders: string[] = [];
  const started: (ProxyService | RoleService)[] = [];
  const pool = openPool({ dsn, pooled: false, size: 1 });
  try {
    const starting = ROLES.map(async (role) => {
      const folder = await emptyFolder();
      folders.push(folder);
      const service =
        role === 'all'
          ? await startService(folder, env)
          : role === 'proxy'
            ? await startProxyAlone(folder, env)
            : await startRole(role, folder, env);
      started.push(service);
      return service;
    });
    const services = await Promise.all(starting);
    for (const { internal } of services)
      await eventually('readiness', async () => (await fetch(`${internal}/ready`)).status === 200);

    const migrated = services.flatMap((service) => [...service.log().matchAll(/^.*The database was migrated.*$/gm)]);
    assert.is(migrated.length, 1, migrated.join('\n'));
    const files = await readMigrations();
    assert.is((JSON.parse(String(migrated[0])) as { applied: number }).applied, files.length);
    const ledger = await pool
      .sqlFor(60_000)
      .rows<{ name: string }>(sql`select name from svc_meta.migrations order by name`);
    assert.equal(
      ledger.map(({ name }) => name),
      files.map(({ name }) => name),
    );
    for (const service of services) assert.not.match(service.log(), /"level":(50|60)/, service.log());

    const [, , , api, , ingest] = services as RoleService[];
    assert.ok(api && ingest);
    const { session_id } = await acceptedTurn(ingest, plainTurn('after ten starts'));
    await derivedSession(api, session_id, 1);
  } finally {
    await Promise.all(started.map((service) => service.stop()));
    await pool.close();
    await drop();
    await Promise.all(folders.map(removeFolder));
  }
});

if (!process.env.SVC_TEST_DSN) console.log('skip: ten starts at once (server): SVC_TEST_DSN is not set');
else test.run();
