/** A cassette gets what was granted and no more, however often and by how many processes; what we may not make is said with the SQL. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type CassetteDatabases,
  openCassetteDatabases,
} from '../../../../core/cassette/database/cassette-databases.ts';
import { GrantsUnavailable } from '../../../../core/db/cassette/grants-unavailable.ts';
import { scramVerifier } from '../../../../core/db/cassette/names.ts';
import { openPool } from '../../../../core/db/client/server.ts';
import { openDatabase } from '../../../../core/db/open.ts';
import { openLog } from '../../../../core/log.ts';
import { cassettesOf, refusal } from '../../../support/cassette-database.ts';
import { databaseSuite, emptyServerDatabase, maintain } from '../../../support/databases.ts';
import { rawSql } from '../../../support/raw-sql.ts';

const silent = openLog('silent');

databaseSuite('provision', (test, database) => {
  let cassettes: CassetteDatabases;
  test.before(() => {
    cassettes = cassettesOf(database());
  });
  test.after(() => cassettes.close());
  const roles = () => database().sql(`select rolname from pg_roles where rolname like 'cassette_%' order by 1`);

  test('a view taken from the list cannot be read after the next start', async () => {
    const db = cassettes.db('readers');
    await cassettes.provision({ name: 'readers', views: ['sessions', 'spans'], extensions: [] });
    assert.is((await db.query('select 1 from svc_v1.spans')).row_count, 0);
    await cassettes.provision({ name: 'readers', views: ['sessions'], extensions: [] });
    assert.match((await refusal(db.query('select 1 from svc_v1.spans'))).message, /permission denied/);
    assert.is((await db.query('select 1 from svc_v1.sessions')).row_count, 0);
    await cassettes.provision({ name: 'readers', views: [], extensions: [] });
    assert.match((await refusal(db.query('select 1 from svc_v1.sessions'))).message, /permission denied/);
  });

  test('its role can do nothing on the server', async () => {
    await cassettes.provision({ name: 'weak', views: [], extensions: [] });
    const [role] = await database().sql(
      `select rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls, rolconnlimit > 0 as limited
         from pg_roles where rolname like 'cassette_weak%' order by rolname desc limit 1`,
    );
    const none = { rolsuper: false, rolinherit: false, rolcreaterole: false, rolcreatedb: false };
    const limited = database().kind === 'server';
    assert.equal(role, { ...none, rolreplication: false, rolbypassrls: false, limited });
  });

  test('missing views are named', async () => {
    assert.equal(await cassettes.missingViews(['sessions', 'raw_turns', 'spans', 'stems']), ['raw_turns', 'stems']);
  });

  test('several processes at once make it once', async () => {
    const others = [cassettesOf(database()), cassettesOf(database())];
    const migrations = [
      { name: '0001', sql: 'create table a (n integer); insert into a values (1)' },
      { name: '0002', sql: 'insert into a values (2)' },
    ];
    const all = [cassettes, ...others];
    await Promise.all(all.map((each) => each.provision({ name: 'twins', views: ['spans'], extensions: ['vector'] })));
    await Promise.all(all.map((each) => each.migrate('twins', migrations)));
    assert.equal((await cassettes.db('twins').query('select n from a order by n')).rows, [{ n: 1 }, { n: 2 }]);
    await Promise.all(others.map((each) => each.close()));
  });

  test('vectors are found without their schema, by whoever was granted them', async () => {
    await cassettes.provision({ name: 'near', views: [], extensions: ['vector'] });
    await cassettes.migrate('near', [
      {
        name: '0001',
        sql: `create table points (n integer, at vector(2));
              create index on points using hnsw (at vector_cosine_ops)`,
      },
    ]);
    const db = cassettes.db('near');
    await db.query(`insert into points select n, format('[%s,1]', n)::vector from generate_series(1, 100) n`);
    const settings = { 'hnsw.ef_search': 80, enable_seqscan: false };
    const { rows } = await db.query('select n from points order by at <=> $1 limit 70', [[1, 1]], { settings });
    assert.is(rows.length, 70);
    assert.equal(rows[0], { n: 1 });
    await cassettes.provision({ name: 'far', views: [], extensions: [] });
    assert.is((await refusal(cassettes.db('far').query(`select '[1,2]'::vector`))).sqlstate, '42704');
    assert.is((await refusal(cassettes.db('far').query(`select '[1,2]'::svc_extensions.vector`))).sqlstate, '42501');
  });

  test('removing leaves nothing of it', async () => {
    const before = await roles();
    await cassettes.provision({ name: 'gone', views: ['spans'], extensions: ['vector'] });
    await cassettes.migrate('gone', [{ name: '0001', sql: 'create table a (v vector(2))' }]);
    assert.ok(await cassettes.lease('gone', 'a', 1000));
    await cassettes.remove('gone');
    assert.equal(await roles(), before);
    for (const text of [
      `select 1 from pg_namespace where nspname = 'cassette_gone'`,
      `select 1 from svc.cassette_migrations where cassette = 'gone'`,
      `select 1 from svc.cassette_leases where cassette = 'gone'`,
      `select 1 from pg_proc where proname = 'cassette_gone'`,
    ]) {
      assert.equal(await database().sql(text), [], text);
    }
    await cassettes.remove('gone');
  });

  test('a schema that a dump brought back goes to the role again', async () => {
    await cassettes.provision({ name: 'back', views: [], extensions: [] });
    await cassettes.migrate('back', [
      {
        name: '0001',
        sql: `create type mood as enum ('good'); create table a (id serial, m mood); create view v as select * from a`,
      },
    ]);
    for (const what of [
      'schema cassette_back',
      'table cassette_back.a',
      'view cassette_back.v',
      'type cassette_back.mood',
    ]) {
      await database().sql(`alter ${what} owner to current_user`);
    }
    await cassettes.provision({ name: 'back', views: [], extensions: [] });
    assert.equal((await cassettes.db('back').query(`insert into a (m) values ('good') returning m`)).row_count, 1);
    await cassettes.migrate('back', [
      {
        name: '0001',
        sql: `create type mood as enum ('good'); create table a (id serial, m mood); create view v as select * from a`,
      },
      { name: '0002', sql: `alter table a add column n integer; alter type mood add value 'bad'; drop view v` },
    ]);
  });

  test('of several the lease has one, until it ends or is given back', async () => {
    assert.ok(await cassettes.lease('mine', 'a', 60_000));
    assert.not(await cassettes.lease('mine', 'b', 60_000));
    assert.ok(await cassettes.lease('mine', 'a', 0), 'renewed, and over at once');
    assert.ok(await cassettes.lease('mine', 'b', 60_000));
    await cassettes.release('mine', 'a');
    assert.not(await cassettes.lease('mine', 'a', 60_000));
    await cassettes.release('mine', 'b');
    assert.ok(await cassettes.lease('mine', 'a', 60_000));
  });
});

const dsn = process.env.SVC_TEST_DSN ?? '';
const server = suite('provision, without superuser');

/** A database of its own, that belongs to a role with these rights. */
async function withRole(rights: string, work: (cassettes: CassetteDatabases) => Promise<void>) {
  const own = await emptyServerDatabase(dsn);
  const role = `svc_test_${randomUUID().slice(0, 8)}`;
  const pool = openPool({ dsn: own.dsn, pooled: false, size: 1 });
  const sql = (text: string) => rawSql(pool.sqlFor(60_000), { text, params: [] });
  const url = new URL(own.dsn);
  await sql(`create role ${role} login ${rights}`);
  await maintain(dsn, `alter database ${url.pathname.slice(1)} owner to ${role}`);
  url.username = role;
  const database = await openDatabase({ dsn: url.href, pooled: false, folder: '', log: silent });
  const cassettes = openCassetteDatabases({ database, dsn: url.href, pooled: false, log: silent });
  try {
    await work(cassettes);
  } finally {
    await cassettes.close();
    await database.close();
    const made = await sql(
      `select rolname from pg_roles where rolname like 'cassette_%\\_' || (select oid from pg_database where datname = current_database())`,
    );
    for (const name of [...made.map(({ rolname }) => rolname), role]) await sql(`drop owned by ${name} cascade`);
    await pool.close();
    await own.drop();
    const last = openPool({ dsn, pooled: false, size: 1 });
    for (const name of [...made.map(({ rolname }) => rolname), role])
      await last.sqlFor(60_000).script(`drop role ${name}`);
    await last.close();
  }
}

server('a role that may make roles is enough', () =>
  withRole('createrole', async (cassettes) => {
    for (let i = 0; i < 2; i += 1) await cassettes.provision({ name: 'mine', views: ['sessions'], extensions: [] });
    await cassettes.migrate('mine', [{ name: '0001', sql: 'create table a (n integer)' }]);
    assert.equal(await cassettes.db('mine').query('insert into a values (1)'), { rows: [], row_count: 1 });
    assert.match(
      (await refusal(cassettes.db('mine').query('select 1 from svc_v1.spans'))).message,
      /permission denied/,
    );
    await cassettes.remove('mine');
  }),
);
server('one that may not is told what a DBA has to run', () =>
  withRole('', async (cassettes) => {
    const error = await cassettes
      .provision({ name: 'mine', views: [], extensions: [] })
      .catch((thrown: unknown) => thrown);
    assert.instance(error, GrantsUnavailable);
    assert.match((error as GrantsUnavailable).message, /lacks CREATEROLE/);
    assert.match((error as GrantsUnavailable).sql, /^alter role svc_test_\w+ createrole;$/);
  }),
);
if (dsn === '') console.log('skip: provision, without superuser: SVC_TEST_DSN is not set');
else server.run();

const verifier = suite('scramVerifier');
verifier('tells one role and one password from another, and neither shows', () => {
  const of = scramVerifier({ user: 'ann', password: 'hunter2' });
  assert.match(of, /^SCRAM-SHA-256\$4096:[A-Za-z0-9+/]{22}==\$[A-Za-z0-9+/]{43}=:[A-Za-z0-9+/]{43}=$/);
  assert.is(of, scramVerifier({ user: 'ann', password: 'hunter2' }));
  assert.is.not(of, scramVerifier({ user: 'bob', password: 'hunter2' }));
});
verifier.run();
