import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql as statement } from 'drizzle-orm';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openPool } from '../../../core/db/client/server.ts';
import { migrate, refuseOldVersion } from '../../../core/db/migrate.ts';
import { readMigrations, type SchemaMigration } from '../../../core/db/migrations.ts';
import { OperatorError } from '../../../core/errors.ts';
import { databaseSuite, emptyServerDatabase } from '../../support/databases.ts';

const refusal = async (work: Promise<unknown>): Promise<string> => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.instance(error, OperatorError);
  return (error as Error).message;
};

databaseSuite('migrate', (test, database) => {
  test('applied every file once, with its checksum', async () => {
    const rows = await database().sql(
      `select name, encode(sha256, 'hex') as sha256 from svc_meta.migrations order by name collate "C"`,
    );
    assert.equal(
      rows,
      (await readMigrations()).map(({ name, sha256 }) => ({ name, sha256 })),
    );
  });

  test('the capture log refuses changes, but for a purge that declares itself', async () => {
    const session = '00000000-0000-4000-8000-000000000001';
    await database().sql(
      `insert into svc.sessions (session_id, harness_id, harness_session_id, client_key, started_at, last_seen_at)
       values ($1, 'h', 's', '', now(), now())`,
      [session],
    );
    await database().sql(
      `insert into svc.raw_turns (source, session_id, session_seq, turn_hash, outcome, ending, provider, harness_id,
         harness_session_id, identity, requested_at, request_pages, request_page_depth, request_bytes, request_digest, response_bytes)
       values ('wire', $1, 1, '', 'captured', 'complete', 'openai', 'h', 's', '{}', now(), '', 1, 0, '', 0)`,
      [session],
    );
    const changes = [
      'delete from svc.raw_turns',
      `update svc.raw_turns set provider = ''`,
      'truncate svc.raw_turns cascade',
    ];
    for (const change of changes) {
      const error = await database()
        .sql(change)
        .catch((thrown: unknown) => thrown);
      assert.match(
        String(error),
        /Cannot (delete|update|truncate) svc\.raw_turns: the capture log is append-only \(23001\)/,
      );
    }
    const purge = (text: string) => `do $$ begin perform set_config('svc.purge', 'on', true); ${text}; end $$`;
    await database().sql(purge(`update svc.raw_turns set provider = 'ollama'`));
    assert.equal(await database().sql('select provider from svc.raw_turns'), [{ provider: 'ollama' }]);
    await database().sql(purge('delete from svc.raw_turns'));
    assert.equal(await database().sql('select provider from svc.raw_turns'), []);
    await database().reset();
  });
});

const files = suite('readMigrations');
files('reads the SQL files of a folder in order', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-test-'));
  await writeFile(join(folder, '0002_b.sql'), 'select 2');
  await writeFile(join(folder, '0001_a.sql'), 'select 1');
  await writeFile(join(folder, 'notes.md'), '');
  assert.equal(
    (await readMigrations(folder)).map(({ name, text }) => [name, text]),
    [
      ['0001_a.sql', 'select 1'],
      ['0002_b.sql', 'select 2'],
    ],
  );
  await rm(folder, { recursive: true });
});
files('a server that is too old is refused', () => {
  assert.throws(
    () => refuseOldVersion(160011),
    /^Cannot use this server: it is PostgreSQL 16, and 17 or later is needed$/,
  );
  refuseOldVersion(170000);
  refuseOldVersion(180006);
});
files.run();

const dsn = process.env.SVC_TEST_DSN ?? '';
const server = suite('migrate (server)');
const two: SchemaMigration[] = [
  { name: '0001_a.sql', text: 'create table public.a (n integer); insert into public.a values (1);', sha256: 'aa' },
  { name: '0002_b.sql', text: 'create table public.b (n integer);', sha256: 'bb' },
];
const pools: ReturnType<typeof openPool>[] = [];
let own: Awaited<ReturnType<typeof emptyServerDatabase>>;
const sql = (pooled = false) => {
  const pool = openPool({ dsn: own.dsn, pooled, size: 1 });
  pools.push(pool);
  return pool.sqlFor(60_000);
};
server.before.each(async () => {
  own = await emptyServerDatabase(dsn);
});
server.after.each(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
  await own.drop();
});
server('of 10 clients with sessions of their own one applies all files, and leaves the lock', async () => {
  const files = await readMigrations();
  const names = files.map(({ name }) => name);
  const start = () => migrate(sql(), files, { ownSession: true });
  const applied = await Promise.all(Array.from({ length: 10 }, start));
  assert.equal(
    applied.filter((some) => some.length > 0),
    [names],
  );
  assert.equal(await migrate(sql(true), files), [], 'also for one that comes through a pooler');
});
server('20 clients at once apply each file once', async () => {
  const applied = await Promise.all(Array.from({ length: 20 }, async () => migrate(sql(), await readMigrations())));
  assert.equal(
    applied.flat().sort(),
    (await readMigrations()).map(({ name }) => name),
  );
});
server('works through a pooler, and only adds what is missing', async () => {
  assert.equal(await migrate(sql(true), two.slice(0, 1)), ['0001_a.sql']);
  assert.equal(await migrate(sql(true), two), ['0002_b.sql']);
  assert.equal(await migrate(sql(true), two), []);
});
server('what changes a database in use is reported before it does; what makes a new one is not', async () => {
  const reported: string[] = [];
  const options = { begins: (name: string) => reported.push(name) };
  await migrate(sql(), two, options);
  assert.equal(reported, []);
  await migrate(sql(), [...two, { name: '0003_c.sql', text: 'select 1', sha256: 'cc' }], options);
  assert.equal(reported, ['0003_c.sql']);
});
server('an edited file is refused', async () => {
  await migrate(sql(), two);
  const edited = two.map((migration, i) => (i === 0 ? { ...migration, sha256: 'ac' } : migration));
  assert.match(await refusal(migrate(sql(), edited)), /0001_a\.sql was edited after it had been applied/);
});
server('a database of a newer version is refused', async () => {
  await migrate(sql(), two);
  assert.match(
    await refusal(migrate(sql(), two.slice(0, 1))),
    /a newer version of svc has migrated it \(0002_b\.sql\)/,
  );
});
server('a file that slips in before applied ones is refused', async () => {
  await migrate(sql(), two);
  const late = [...two.slice(0, 1), { name: '0001_z.sql', text: '', sha256: 'cc' }, ...two.slice(1)];
  assert.match(await refusal(migrate(sql(), late)), /0001_z\.sql comes before 0002_b\.sql/);
});
server('a file that fails leaves nothing behind, and those before it stay', async () => {
  const broken = [
    ...two,
    { name: '0003_c.sql', text: 'create table public.c (n integer); select 1 / 0;', sha256: 'cc' },
  ];
  const error = await migrate(sql(), broken).catch((thrown: Error) => thrown);
  assert.match(String(error), /22012/);
  assert.equal(
    await sql().rows(statement`select to_regclass('public.c') is null as gone, count(*) as n from public.a`),
    [{ gone: true, n: 1 }],
  );
  assert.equal(await migrate(sql(), two), []);
});
server('missing rights are told as such', async () => {
  const url = new URL(own.dsn);
  url.username = `svc_plain_${url.pathname.slice(-8)}`;
  const admin = sql();
  await admin.script(
    `create role ${url.username} login; revoke create on database ${url.pathname.slice(1)} from public`,
  );
  const pool = openPool({ dsn: url.href, pooled: false, size: 1 });
  const message = await refusal(migrate(pool.sqlFor(60_000), two)).finally(pool.close);
  await admin.script(`drop role ${url.username}`);
  assert.match(message, /^Cannot migrate the database: the role lacks a right \(.*permission denied for database/);
});
if (dsn === '') console.log('skip: migrate (server): SVC_TEST_DSN is not set');
else server.run();
