import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { sql as statement } from 'drizzle-orm';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openPool } from '../../../core/db/client/server.ts';
import { openDatabase } from '../../../core/db/open.ts';
import { DatabaseError, OperatorError } from '../../../core/errors.ts';
import { openLog } from '../../../core/log.ts';
import { databaseSuite, emptyServerDatabase, startTestThread } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';

const failure = async (work: Promise<unknown>): Promise<DatabaseError> => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.instance(error, DatabaseError);
  return error as DatabaseError;
};

databaseSuite('open', (test, database) => {
  test('executes operations', async () => {
    assert.match((await database().execute('ping', {})).server_version, /^1[78]/);
    assert.match((await database().execute('installation', {})).identity_key, /^[0-9a-f]{64}$/);
    assert.is(await database().execute('checkpoint', {}), undefined);
  });

  test('tells what went wrong without the values', async () => {
    await database().sql('create table public.things (name text primary key, n integer check (n < 5))');
    await database().sql('insert into public.things values ($1, 1)', ['my-secret']);
    const statements = [
      ['insert into public.things values ($1, 2)', '23505', 'things_pkey'],
      ['insert into public.things values ($1, 7)', '23514', 'things_n_check'],
      ['select $1::text::integer', '22P02', ''],
      ['select $1 from nowhere', '42P01', 'nowhere'],
    ] as const;
    for (const [text, sqlstate, named] of statements) {
      const error = await failure(database().sql(text, ['my-secret']));
      assert.is(error.sqlstate, sqlstate);
      assert.is(error.transient, false);
      assert.ok(error.message.includes(named), error.message);
      assert.not.ok(inspect(error, { depth: 9, showHidden: true }).includes('my-secret'));
    }
  });

  test('hears notifications until told to stop', async () => {
    const heard: string[] = [];
    const stop = await database().listen('news', (payload) => heard.push(payload));
    await database().sql(`select pg_notify('news', 'first')`);
    await eventually(() => heard.length === 1);
    await stop();
    await database().sql(`select pg_notify('news', 'second')`);
    await database().execute('ping', {});
    assert.equal(heard, ['first']);
  });

  test('empties its tables', async () => {
    const { identity_key } = await database().execute('installation', {});
    await database().sql(`insert into svc.coverage values ('2026-11-21', 'openai', 'captured', 3)`);
    await database().reset();
    assert.equal(await database().sql('select * from svc.coverage'), []);
    assert.is((await database().execute('installation', {})).identity_key, identity_key);
  });

  test('sweeps dead rows where the database does not', async () => {
    await database().sql('create table public.busy (n integer)');
    await database().sql('insert into public.busy select generate_series(1, 1000)');
    await database().sql('update public.busy set n = n + 1');
    if (database().kind === 'server') {
      assert.equal(await database().execute('vacuum', {}), { tables: [] });
      return;
    }
    assert.ok((await database().execute('vacuum', {})).tables.includes('public.busy'));
    assert.not.ok((await database().execute('vacuum', {})).tables.includes('public.busy'));
    const [row] = await database().sql(
      `select n_dead_tup::integer as dead, (select reltuples::integer from pg_class where relname = 'busy') as rows
         from pg_stat_user_tables where relname = 'busy'`,
    );
    assert.equal(row, { dead: 0, rows: 1000 });
  });

  test('says so when it is asked after it was closed', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-test-'));
    const another = await openDatabase({
      dsn: database().dsn ?? '',
      pooled: false,
      folder,
      log: openLog('silent'),
      startThread: startTestThread,
    });
    const ping = another.execute('ping', {});
    await Promise.all([another.close(), another.close()]);
    assert.match((await ping).server_version, /^1[78]/, 'what was under way is answered');
    assert.is((await failure(another.execute('ping', {}))).transient, false);
    await rm(folder, { recursive: true });
  });
});

const embedded = suite('open, embedded');
embedded('a database whose making was cut short is made anew', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-test-'));
  const main = new URL('../../support/open-and-wait.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, ['--import', 'tsx', main, folder], { stdio: 'ignore' });
  await eventually(() => existsSync(join(folder, 'data/PG_VERSION')));
  child.kill('SIGKILL');
  await eventually(() => child.signalCode !== null);
  const database = await openDatabase({ dsn: '', pooled: false, folder, log: openLog('silent') });
  assert.match((await database.execute('installation', {})).identity_key, /^[0-9a-f]{64}$/);
  await database.close();
  assert.equal(await readdir(folder), ['.gitignore', 'data', 'data.used-by']);
  await rm(folder, { recursive: true });
});
embedded('a server that cannot be reached is told to the operator, without its password', async () => {
  const error = await openDatabase({
    dsn: 'postgres://ann:hunter2@127.0.0.1:1/svc',
    pooled: false,
    folder: '',
    log: openLog('silent'),
  }).catch((error: unknown) => error);
  assert.instance(error, OperatorError);
  assert.match((error as Error).message, 'Cannot use the database of storage.postgres_dsn: ');
  assert.not.match((error as Error).message, 'hunter2');
});

embedded.run();

const dsn = process.env.SVC_TEST_DSN ?? '';
const server = suite('open, server');
const backend = statement`select pg_backend_pid() as pid`;

async function withPool(
  pooled: boolean,
  work: (pool: ReturnType<typeof openPool>, end: (pid: unknown) => Promise<unknown>) => Promise<void>,
) {
  const own = await emptyServerDatabase(dsn);
  const [pool, other] = [openPool({ dsn: own.dsn, pooled, size: 2 }), openPool({ dsn: own.dsn, pooled, size: 1 })];
  try {
    await work(pool, (pid) => other.sqlFor(60_000).rows(statement`select pg_terminate_backend(${pid}::integer)`));
  } finally {
    await Promise.all([pool.close(), other.close()]);
    await own.drop();
  }
}

for (const pooled of [false, true]) {
  server(`a connection lost in a transaction fails it, and only it${pooled ? ' (pooled)' : ''}`, () =>
    withPool(pooled, async (pool, end) => {
      const sql = pool.sqlFor(60_000);
      for (const when of ['between statements', 'in a statement'] as const) {
        for (let i = 0; i < 5; i += 1) {
          const error = await failure(
            sql.transaction(async (tx) => {
              const [row] = await tx.rows<{ pid: number }>(backend);
              if (when === 'between statements') await end(row?.pid);
              else setTimeout(() => void end(row?.pid), 20);
              await tx.rows(statement`select pg_sleep(${when === 'in a statement' ? 30 : 0})`);
              await tx.rows(statement`select 1 as one`);
            }),
          );
          assert.is(error.transient, true);
          assert.equal(await sql.rows(statement`select 1 as one`), [{ one: 1 }]);
        }
      }
    }),
  );
}
server('a connection lost while idle is replaced', () =>
  withPool(false, async (pool, end) => {
    const sql = pool.sqlFor(60_000);
    for (let i = 0; i < 5; i += 1) {
      const [row] = await sql.rows<{ pid: number }>(backend);
      await end(row?.pid);
      const answers = await Promise.allSettled([sql.rows(statement`select 1`), sql.rows(statement`select 1`)]);
      for (const answer of answers) {
        if (answer.status === 'rejected') assert.is((answer.reason as DatabaseError).transient, true);
      }
    }
    assert.equal(await sql.rows(statement`select 1 as one`), [{ one: 1 }]);
  }),
);
server('a statement that takes too long is cancelled', () =>
  withPool(false, async (pool) => {
    const error = await failure(pool.sqlFor(100).rows(statement`select pg_sleep(60)`));
    assert.is(error.sqlstate, '57014');
    assert.is(error.transient, true);
    assert.equal(await pool.sqlFor(60_000).rows(statement`select pg_sleep(0.3)::text as slept`), [{ slept: '' }]);
  }),
);
server('more work than connections waits for its turn', () =>
  withPool(false, async (pool) => {
    const sql = pool.sqlFor(60_000);
    const one = async (i: number) =>
      sql.transaction(async (tx) => (await tx.rows<{ i: number }>(statement`select ${i}::integer as i`))[0]?.i);
    assert.equal(
      await Promise.all(Array.from({ length: 50 }, (_, i) => one(i))),
      Array.from({ length: 50 }, (_, i) => i),
    );
  }),
);
server('a database that takes no connections for a while is a transient failure', async () => {
  const own = await emptyServerDatabase(dsn);
  const [maintenance, pool] = [
    openPool({ dsn, pooled: false, size: 1 }),
    openPool({ dsn: own.dsn, pooled: false, size: 1 }),
  ];
  const name = statement.raw(new URL(own.dsn).pathname.slice(1));
  try {
    await maintenance.sqlFor(60_000).rows(statement`alter database ${name} with allow_connections false`);
    const error = await failure(pool.sqlFor(60_000).rows(statement`select 1 as one`));
    assert.is(error.sqlstate, '55000');
    assert.is(error.transient, true);
    await maintenance.sqlFor(60_000).rows(statement`alter database ${name} with allow_connections true`);
    assert.equal(await pool.sqlFor(60_000).rows(statement`select 1 as one`), [{ one: 1 }]);
  } finally {
    await Promise.all([maintenance.close(), pool.close()]);
    await own.drop();
  }
});

server('an absent server is a transient failure', async () => {
  const pool = openPool({ dsn: 'postgres://nobody@127.0.0.1:1/none', pooled: false, size: 1 });
  for (let i = 0; i < 3; i += 1) {
    const error = await failure(pool.sqlFor(60_000).rows(statement`select 1`));
    assert.is(error.transient, true);
    assert.match(error.message, /ECONNREFUSED/);
  }
  await pool.close();
});
server('listening comes back after its connection was lost', async () => {
  const own = await emptyServerDatabase(dsn);
  const database = await openDatabase({ dsn: own.dsn, pooled: false, folder: '', log: openLog('silent') });
  const pool = openPool({ dsn: own.dsn, pooled: false, size: 1 });
  const sql = pool.sqlFor(60_000);
  let heard = 0;
  await database.listen('news', () => {
    heard += 1;
  });
  await sql.rows(
    statement`select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen%' and datname = current_database()`,
  );
  await eventually(async () => {
    await sql.rows(statement`select pg_notify('news', '')`);
    return heard > 0;
  });
  await Promise.all([database.close(), pool.close()]);
  await own.drop();
});
server('bytes are read the same whatever bytea_output the database has', () =>
  withPool(true, async (pool) => {
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    const twice = new Uint8Array([...bytes, ...bytes]);
    for (const output of ['hex', 'escape'])
      await pool.sqlFor(60_000).transaction(async (tx) => {
        await tx.rows(statement`select set_config('bytea_output', ${output}, true)`);
        const [row] = await tx.rows(statement`
          select b || b as twice, array[b, ''::bytea, null, '\\x41'::bytea] as several, ''::bytea as none
            from (select ${bytes}::bytea as b) as of_it`);
        const several = [bytes, new Uint8Array(), null, Buffer.from('A')].map((each) => each && new Uint8Array(each));
        assert.equal(row, { twice, several, none: new Uint8Array() }, output);
      });
  }),
);
server('threads learn how the database is to be partitioned', async () => {
  const own = await emptyServerDatabase(dsn);
  const log = openLog('silent');
  const database = await openDatabase({
    dsn: own.dsn,
    pooled: false,
    partitioned: 'day',
    folder: '',
    log,
    threadSize: 2,
  });
  const { kind, ...connection } = database.connection();
  assert.is(kind, 'server');
  const thread = { pooled: false, distributed: '', partitioned: 'day', statementTimeoutMs: 60_000, size: 2 };
  assert.equal(connection, { dsn: own.dsn, ...thread });
  await database.close();
  await own.drop();
});
if (dsn === '') console.log('skip: open, server: SVC_TEST_DSN is not set');
else server.run();
