/**
 * A database whose large tables are distributed (storage.distributed): a filled one is distributed at a start and shows what it showed before,
 * byte by byte, to readers and to cassettes. Needs SVC_TEST_CITUS_DSN. (core/db/distribute/README.md)
 */
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openPool } from '../../core/db/client/server.ts';
import { DISTRIBUTED, requireCitus } from '../../core/db/distribute/distribute.ts';
import { emptyServerDatabase } from '../support/databases.ts';
import { emptyFolder, eventually, removeFolder, type Service, startService, svc } from '../support/serve.ts';

const cluster = process.env.SVC_TEST_CITUS_DSN ?? '';
const test = suite('a filled database is distributed');

/** Everything that readers and cassettes get of the sessions, as text. */
async function shown({ api }: Service): Promise<Record<string, string>> {
  const read = async (path: string) => {
    const response = await fetch(`${api}${path}`);
    assert.is(response.status, 200, `${path}: ${await response.clone().text()}`);
    return response.text();
  };
  const found: Record<string, string> = {};
  const keep = async (path: string) => {
    found[path] = await read(path);
  };
  await keep('/v1/stats');
  await keep('/v1/traces?limit=100');
  await keep('/v1/browse/sessions?limit=100');
  await keep('/v1/browse/sessions?text=the&model=claude-sonnet-4-5');
  const { items } = JSON.parse(await read('/v1/sessions?limit=100')) as { items: { id: string }[] };
  assert.ok(items.length > 3);
  for (const { id } of items) {
    await keep(`/v1/sessions/${id}`);
    await keep(`/v1/sessions/${id}/traces?payload=full`);
    await keep(`/v1/sessions/${id}/outline`);
    await keep(`/v1/sessions/${id}/raw_turns`);
  }
  await keep('/v1/cassettes/export/sessions?since=2000-01-01T00:00:00Z');
  return found;
}

test('readers, cassettes, verify and sizes say the same, and the coordinator holds none of their rows', async () => {
  const { dsn, drop } = await emptyServerDatabase(cluster);
  const folder = await emptyFolder();
  const pool = openPool({ dsn, pooled: false, size: 1 });
  const rows = <Row extends Record<string, unknown>>(text: string) => pool.sqlFor(60_000).rows<Row>(sql.raw(text));
  const env = { SVC_STORAGE_POSTGRES_DSN: dsn, SVC_CASSETTES_BUILT_IN: 'true', SVC_STORAGE_DISTRIBUTED: '' };
  const derived = () =>
    eventually('derivation', async () => (await rows('select 1 as one from svc.derive_queue')).length === 0, 60_000);
  let service: Service | undefined;
  try {
    service = await startService(folder, env);
    assert.is((await fetch(`${service.api}/v1/admin/seed/demo`, { method: 'POST' })).status, 200);
    await derived();
    const before = await shown(service);
    const [localBytes] = await rows<{ bytes: number }>(`select svc.table_bytes('svc.spans') as bytes`);
    assert.is(await service.stop(), 0);

    service = await startService(folder, { ...env, SVC_STORAGE_DISTRIBUTED: 'citus' });
    const tables = await rows<{ name: string }>(
      `select 'svc.' || relname as name from citus_tables join pg_class c on c.oid = table_name order by 1`,
    );
    assert.equal(
      tables.map(({ name }) => name),
      DISTRIBUTED.toSorted(),
    );
    for (const name of DISTRIBUTED) {
      const [size] = await rows<{ here: number; all: number }>(
        `select pg_relation_size('${name}') as here, svc.table_bytes('${name}') as all`,
      );
      assert.is(size?.here, 0, name);
      assert.ok((size?.all ?? 0) > 0, name);
    }
    assert.ok(localBytes && localBytes.bytes > 0);
    assert.equal(await shown(service), before);
    assert.is(await service.stop(), 0);

    const verified = await svc(folder, ['verify'], env);
    assert.is(verified.status, 0, verified.out + verified.err);
    service = await startService(folder, { ...env, SVC_STORAGE_DISTRIBUTED: 'citus' }); // which has nothing left to do
    assert.not.match(service.log(), 'Tables were distributed');
    assert.equal(await shown(service), before);
    assert.is(await service.stop(), 0);
  } finally {
    await service?.stop();
    await pool.close();
    await removeFolder(folder);
    await drop();
  }
});

test('a login that is no superuser is refused with the statements that it lacks', async () => {
  const { dsn, drop } = await emptyServerDatabase(cluster);
  const login = `svc_test_${randomUUID().slice(0, 8)}`;
  const url = new URL(dsn);
  Object.assign(url, { username: login, password: 'planted-password' });
  const [admin, pool] = [dsn, url.href].map((each) => openPool({ dsn: each, pooled: false, size: 1 }));
  assert.ok(admin && pool);
  const run = (text: string) => admin.sqlFor(60_000).rows(sql.raw(text));
  try {
    await run(`create role ${login} login password 'planted-password'`);
    const refusal = await requireCitus(pool.sqlFor(60_000)).catch((error: Error) => error);
    assert.is(
      refusal?.message,
      `Cannot distribute the database (storage.distributed = "citus"): a superuser has to run in it:
  grant usage on foreign server svc_coordinator to "${login}";
  create user mapping for "${login}" server svc_coordinator options (user '${login}', password '…');`,
    );
  } finally {
    await pool.close();
    await run(`drop role ${login}`);
    await admin.close();
    await drop();
  }
});

if (cluster === '') console.log('skip: a filled database is distributed: SVC_TEST_CITUS_DSN is not set');
else test.run();
