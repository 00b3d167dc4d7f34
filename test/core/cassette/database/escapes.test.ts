/** Nothing gets a cassette past its role: neither when the parser looks at its statements, nor where only the database does. */
import { sql } from 'drizzle-orm';
import * as assert from 'uvu/assert';
import { refuseReach } from '../../../../core/cassette/database/allowed-names.ts';
import type { CassetteDatabases } from '../../../../core/cassette/database/cassette-databases.ts';
import type { CassetteDb } from '../../../../core/cassette/database/cassette-db.ts';
import { openPool } from '../../../../core/db/client/server.ts';
import { cassettesOf, coreSession, furnished, refusal } from '../../../support/cassette-database.ts';
import { databaseSuite } from '../../../support/databases.ts';

const SECRET = 'only-for-the-core';

/** Functions that take a name or a number and were looked at: they compare, convert or search with it, or need rights on what it names. */
const REVIEWED = new RegExp(
  [
    '(bt|hash)?(name|oid|text)[a-z]*|(bt|hash)(name|oid)[a-z]*|bttextnamecmp|bt(varstr)?equalimage', // comparing
    'bpchar|varchar|int8|min|max|(not)?like|length|convert(_from|_to)?|to_ascii', // converting
    'currval|nextval|setval', // of its own sequences
    '((json|jsonb)_)?to_tsvector|(phraseto|plainto|to|websearch_to)_tsquery|ts_(debug|headline|lexize|parse|token_type)',
    '(bit|bpchar|interval|numeric|time|timestamp|timestamptz|timetz|varbit|varchar)_?in', // with a type's modifier
    'hash_aclitem(_extended)?', // the type is refused
  ]
    .map((pattern) => `^(${pattern})$`)
    .join('|'),
);

/** Ways out, by the wall that stops them: `parser` refuses the statement, `role` lets it run and the rights are lacking. */
const escapes: { name: string; text: string; says: RegExp }[] = [
  { name: 'svc.raw_turns', text: 'select * from svc.raw_turns', says: /belongs to the service/ },
  { name: 'the installation key', text: 'select identity_key from svc.installation', says: /belongs to the service/ },
  { name: 'the ledger of the core', text: 'delete from svc_meta.migrations', says: /belongs to the service/ },
  { name: 'an ungranted view', text: 'select * from svc_v1.spans', says: /permission denied for view spans/ },
  {
    name: "another cassette's schema",
    text: 'select * from cassette_other.secrets',
    says: /belongs to another cassette/,
  },
  {
    name: "another cassette's schema in a CTE that writes",
    text: 'with x as (delete from cassette_other.secrets returning *) select * from x',
    says: /another cassette/,
  },
  {
    name: 'writing a view',
    text: `update svc_v1.span_turns set status = 'mine'`,
    says: /permission denied for view span_turns/,
  },
  { name: 'deleting through a view', text: 'delete from svc_v1.span_turns', says: /permission denied for view/ },
  { name: 'SET ROLE', text: 'set role postgres', says: /SET is not for cassettes/ },
  { name: 'SET LOCAL ROLE', text: 'set local role svc', says: /SET is not for cassettes/ },
  { name: 'RESET ROLE', text: 'reset role', says: /SET is not for cassettes/ },
  { name: 'SET SESSION AUTHORIZATION', text: 'set session authorization default', says: /SET is not for cassettes/ },
  {
    name: 'has_database_privilege',
    text: `select has_database_privilege('postgres', 'connect')`,
    says: /calls has_database_privilege/,
  },
  {
    name: 'has_schema_privilege of a role',
    text: `select pg_catalog.has_schema_privilege('cassette_other', 'public', 'usage')`,
    says: /calls has_schema_privilege/,
  },
  {
    name: 'has_table_privilege in a view of rows',
    text: `select n, has_table_privilege(n::oid, 'select') from generate_series(16384, 20000) n`,
    says: /calls has_table_privilege/,
  },
  {
    name: 'row_security_active',
    text: `select row_security_active('svc.raw_turns')`,
    says: /calls row_security_active/,
  },
  {
    name: 'the schema of another, asked by a value',
    text: `select nextval('cassette_other.secrets_id_seq')`,
    says: /names a schema that it has no part in \(42501\)/,
  },
  {
    name: 'a schema that is not there, asked by a value',
    text: `select to_tsvector('cassette_nobody.english', 'words')`,
    says: /names a schema that it has no part in \(42501\)/,
  },
  { name: 'set_config', text: `select set_config('role', 'none', false)`, says: /calls set_config/ },
  {
    name: 'set_config of pg_catalog',
    text: `select pg_catalog.set_config('role', 'none', false)`,
    says: /calls set_config/,
  },
  {
    name: 'set_config where nobody looks',
    text: `select 1 from generate_series(1, 2) g order by (case when set_config('role', 'none', false) is null then g end)`,
    says: /calls set_config/,
  },
  {
    name: 'a worker of Citus',
    text: `select run_command_on_workers('select 1')`,
    says: /calls run_command_on_workers/,
  },
  { name: 'tables of Citus', text: 'select table_name from citus_tables', says: /of the system/ },
  { name: 'pg_settings', text: `update pg_settings set setting = 'none' where name = 'role'`, says: /of the system/ },
  { name: 'DO', text: `do $$ begin execute 'reset role'; end $$`, says: /DO is not for cassettes/ },
  {
    name: 'a function of its own',
    text: `create function mine() returns text language sql security definer as 'select 1::text'`,
    says: /CREATE FUNCTION is not/,
  },
  { name: 'a procedure', text: 'call svc.refuse_change()', says: /CALL is not for cassettes/ },
  { name: 'a function of the service', text: 'select svc.refuse_change()', says: /calls svc\.refuse_change/ },
  {
    name: 'the function that statements run in',
    text: `select svc_cassettes.cassette_mine('reset role', 'count', 1)`,
    says: /calls svc_cassettes/,
  },
  {
    name: 'a view of its own over the log',
    text: 'create view mine as select * from svc.raw_turns',
    says: /CREATE VIEW is not/,
  },
  { name: 'two statements', text: 'select 1; reset role', says: /2 statements/ },
  { name: 'a COMMIT between', text: 'commit; reset role; begin', says: /3 statements/ },
  { name: 'COMMIT', text: 'commit', says: /BEGIN, COMMIT or ROLLBACK is not/ },
  { name: 'search_path', text: 'set search_path = svc', says: /SET is not for cassettes/ },
  { name: 'SELECT INTO', text: 'select 1 as n into stolen', says: /SELECT INTO/ },
  { name: 'SELECT INTO in a union', text: 'select 1 as n into temp stolen union select 2', says: /SELECT INTO/ },
  { name: 'CREATE TABLE AS', text: 'create table stolen as select 1', says: /CREATE TABLE AS is not/ },
  { name: 'temp tables that shadow ours', text: 'create temp table sessions (id uuid)', says: /CREATE TABLE is not/ },
  { name: 'advisory locks', text: 'select pg_advisory_lock(8201447304118392)', says: /calls pg_advisory_lock/ },
  {
    name: 'advisory locks of a transaction',
    text: 'select pg_try_advisory_xact_lock(1)',
    says: /calls pg_try_advisory_xact_lock/,
  },
  { name: 'sleeping', text: 'select pg_sleep(60)', says: /calls pg_sleep/ },
  { name: 'a quoted name', text: 'select "pg_sleep"(60)', says: /calls pg_sleep/ },
  { name: 'a name in unicode escapes', text: `select U&"pg\\005fsleep"(60)`, says: /calls pg_sleep/ },
  { name: 'notices', text: `select pg_notify('news', 'false')`, says: /calls pg_notify/ },
  { name: 'listening', text: 'listen news', says: /LISTEN is not/ },
  { name: 'files', text: `select pg_read_file('PG_VERSION')`, says: /calls pg_read_file/ },
  { name: 'COPY', text: `copy (select 1) to '/tmp/stolen'`, says: /COPY is not/ },
  { name: 'COPY to a program', text: `copy (select 1) to program 'true'`, says: /COPY is not/ },
  { name: 'large objects', text: 'select lo_create(4711)', says: /calls lo_create/ },
  {
    name: 'text that is run as a query',
    text: `select query_to_xml('select identity_key from svc.installation', true, false, '')`,
    says: /calls query_to_xml/,
  },
  {
    name: 'a table by its name',
    text: `select table_to_xml('svc.installation', true, false, '')`,
    says: /calls table_to_xml/,
  },
  {
    name: 'ts_stat',
    text: `select * from ts_stat('select name::tsvector from svc.session_rollups')`,
    says: /calls ts_stat/,
  },
  { name: 'dblink', text: `select * from dblink('', 'select 1') as t (n int)`, says: /calls dblink/ },
  { name: 'the catalog', text: 'select rolname from pg_catalog.pg_roles', says: /of the system/ },
  { name: 'the catalog without its schema', text: 'select * from pg_stat_activity', says: /of the system/ },
  { name: 'the information schema', text: 'select * from information_schema.schemata', says: /of the system/ },
  {
    name: 'names by number',
    text: 'select n::oid::regclass::text from generate_series(16384, 17000) n',
    says: /the type regclass/,
  },
  {
    name: 'names of types by number',
    text: 'select format_type(n::oid, null) from generate_series(16384, 17000) n',
    says: /calls format_type/,
  },
  { name: 'names of roles by number', text: "select makeaclitem(10, 10, 'select', false)", says: /calls makeaclitem/ },
  { name: 'settings of the service', text: `select current_setting('data_directory')`, says: /calls current_setting/ },
  { name: 'EXPLAIN of another statement', text: 'explain analyze delete from svc.raw_turns', says: /EXPLAIN is not/ },
  { name: 'PREPARE', text: 'prepare p as reset role', says: /PREPARE is not|syntax error/ },
  { name: 'a cursor that stays open', text: 'declare c cursor with hold for select 1', says: /DECLARE is not/ },
  { name: 'GRANT', text: 'grant all on schema svc to public', says: /GRANT is not/ },
  { name: 'ALTER SYSTEM', text: `alter system set fsync = off`, says: /ALTER SYSTEM is not/ },
  { name: 'LOCK', text: 'lock table svc.raw_turns', says: /LOCK is not/ },
  { name: 'DISCARD ALL', text: 'discard all', says: /DISCARD is not/ },
  { name: 'what stands behind a NUL', text: `select 1\0; reset role`, says: /holds a NUL/ },
  { name: 'another database', text: 'select * from postgres.svc.raw_turns', says: /names a database/ },
];

/** The same where the parser is not asked: straight into the function that statements run in. Each must fail, or change nothing. */
const behindTheParser: { name: string; text: string; shape?: 'count' }[] = [
  { name: 'svc.raw_turns', text: 'select * from svc.raw_turns' },
  { name: 'the installation key', text: 'select identity_key from svc.installation' },
  { name: 'an ungranted view', text: 'select * from svc_v1.spans' },
  { name: "another cassette's schema", text: 'select * from cassette_other.secrets' },
  { name: 'writing a view', text: 'delete from svc_v1.span_turns', shape: 'count' },
  { name: 'SET ROLE', text: 'set role postgres', shape: 'count' },
  { name: 'RESET ROLE', text: 'reset role', shape: 'count' },
  { name: 'SET SESSION AUTHORIZATION', text: 'set session authorization default', shape: 'count' },
  { name: 'set_config', text: `select set_config('role', 'none', false)` },
  { name: 'DO', text: `do $$ begin execute 'reset role'; end $$`, shape: 'count' },
  {
    name: 'DO that sets',
    text: `do $$ begin perform set_config('session_authorization', 'postgres', false); end $$`,
    shape: 'count',
  },
  { name: 'two statements that give rows', text: 'select 1; select 2' },
  { name: 'COMMIT', text: 'commit', shape: 'count' },
  {
    name: 'a function in a schema of ours',
    text: `create function svc_v1.mine() returns int language sql as 'select 1'`,
    shape: 'count',
  },
  {
    name: 'a function in place of its own',
    text: `create or replace function svc_cassettes.cassette_mine(statement text, shape text, most_bytes bigint) returns setof text language sql as 'select 1::text'`,
    shape: 'count',
  },
  { name: 'files', text: `select pg_read_file('PG_VERSION')` },
  { name: 'COPY to a program', text: `copy (select 1) to program 'true'`, shape: 'count' },
  { name: 'a role of its own', text: 'create role thief superuser', shape: 'count' },
  { name: 'GRANT', text: 'grant usage on schema svc to public', shape: 'count' },
  { name: 'ALTER SYSTEM', text: `alter system set fsync = off`, shape: 'count' },
  { name: 'an extension', text: 'create extension plpgsql', shape: 'count' },
  {
    name: 'a table in the schema public',
    text: 'create table public.sessions (id int)',
    shape: 'count',
  },
];

/** These the role may do on a server, in a session of its own; the embedded database has one for everybody. */
const inOneSession: { name: string; text: string; shape?: 'count' }[] = [
  { name: 'temp tables that shadow ours', text: 'create temp table sessions (id uuid)', shape: 'count' },
  { name: 'advisory locks', text: 'select pg_advisory_lock(8201447304118392)' },
  { name: 'sleeping', text: 'select pg_sleep(60)' },
  { name: 'notices', text: `select pg_notify('news', 'false')` },
  { name: 'large objects', text: 'select lo_create(4711)' },
  { name: 'settings', text: `select set_config('search_path', 'svc', false)` },
  {
    name: 'a cursor that runs at the commit',
    text: `declare c cursor with hold for select set_config('role', 'none', false)`,
    shape: 'count',
  },
];

databaseSuite('escapes', (test, database) => {
  let cassettes: CassetteDatabases;
  let db: CassetteDb;
  let before: Awaited<ReturnType<typeof coreSession>>;

  test.before(async () => {
    cassettes = cassettesOf(database());
    const other = await furnished(cassettes, 'other', { tables: 'create table secrets (text text)' });
    await other.query('insert into secrets values ($1)', [SECRET]);
    db = await furnished(cassettes, 'mine', {
      views: ['sessions', 'span_turns'],
      tables: 'create table things (n integer)',
    });
    before = await coreSession(database());
  });
  test.after(() => cassettes.close());

  const unharmed = async () => {
    assert.equal(await coreSession(database()), before, 'the core is who it was, with its settings');
    assert.equal(await database().sql('select text from cassette_other.secrets'), [{ text: SECRET }]);
    assert.equal(await db.query('select count(*) as n from things'), { rows: [{ n: 0 }], row_count: 1 });
  };
  const straight = async (text: string, shape: 'object' | 'count' = 'object') => {
    if (database().kind === 'embedded') {
      return database().execute('callCassette', { schema: 'cassette_mine', text, shape, settings: [] });
    }
    const login = await database().execute('cassetteLogin', { name: 'mine' });
    const pool = openPool({ dsn: database().dsn ?? '', pooled: false, size: 1, login });
    const rows = pool.sqlFor(10_000).rows(sql`select svc_cassettes.cassette_mine(${text}, ${shape}, 1000000) as line`);
    return rows.finally(pool.close);
  };

  test('it reads what it was granted, and its own', async () => {
    assert.equal(await db.query('select * from svc_v1.sessions'), { rows: [], row_count: 0 });
    const role = (await db.query<{ who: string }>('select current_user as who')).rows[0]?.who ?? '';
    assert.match(role, database().kind === 'embedded' ? /^cassette_mine$/ : /^cassette_mine_\d+$/);
    await unharmed();
  });

  for (const { name, text, says } of escapes) {
    test(`no way out: ${name}`, async () => {
      const error = await refusal(db.query(text));
      assert.match(error.message, says);
      assert.not(error.transient);
      assert.not.match(error.message, SECRET);
      assert.match((await refusal(streamed(db, text))).message, /./);
      await unharmed();
    });
  }
  for (const { name, text, shape } of behindTheParser) {
    test(`no way out behind the parser: ${name}`, async () => {
      const error = await refusal(straight(text, shape));
      assert.match(error.sqlstate, /^(42|0A|25|2D)/, error.message);
      await unharmed();
    });
  }
  for (const { name, text, shape } of inOneSession) {
    test(`no trace behind the parser: ${name}`, async () => {
      if (database().kind === 'embedded') await refusal(straight(text, shape));
      await unharmed();
    });
  }

  test('no way out behind the parser: a function that no longer takes on the role', async () => {
    const call = 'svc_cassettes.cassette_mine(text, text, bigint)';
    await straight(`alter function ${call} security invoker`, 'count'); // its owner may
    if (database().kind === 'embedded') {
      const error = await refusal(straight('select identity_key from svc.installation'));
      assert.match(error.message, /would run as another role/);
    }
    await database().sql(`alter function ${call} security definer`);
    await unharmed();
  });

  test('what a statement sets behind the parser is gone with it', async () => {
    await straight(`set work_mem = '77MB'`, 'count');
    await unharmed();
  });

  test('of all functions that take a name or a number of something none tells what is there', async () => {
    const found = await database().sql(`
      select distinct proname::text as name from pg_proc p
       where pronamespace = 'pg_catalog'::regnamespace
         and exists (select from unnest(proargtypes) a join pg_type t on t.oid = a
                      where t.typname ~ '^_?(name|oid|reg[a-z]+|aclitem)$')
         and not exists (select from unnest(proargtypes) a where a = 'internal'::regtype)
       order by 1`);
    const callable = found
      .map(({ name }) => String(name))
      .filter((name) => {
        const call = { FuncCall: { funcname: [{ String: { sval: name } }] } };
        try {
          refuseReach(call, 'cassette_mine');
          return !REVIEWED.test(name);
        } catch {
          return false;
        }
      });
    assert.ok(found.length > 150);
    assert.equal(callable, []);
  });

  test('what is missing of its own is named', async () => {
    assert.match((await refusal(db.query('select t.nope from things t'))).message, /column t.nope does not exist/);
    assert.match((await refusal(db.query('select 1 from nope'))).message, /relation "nope" does not exist/);
    assert.match((await refusal(db.query('select 1 from svc_v1.nope'))).message, /"svc_v1.nope" does not exist/);
  });

  test('a way out in a migration is refused before anything runs', async () => {
    for (const text of [
      'create function f() returns int language sql as $$select 1$$',
      'create table a (n int); do $$ begin end $$',
      'create table a (n int); reset role',
      'alter table svc.raw_turns add column mine text',
      'create table svc_v1.mine (n int)',
      'drop schema svc cascade',
      'drop table svc.raw_turns',
      'create trigger t before insert on things execute function svc.refuse_change()',
      'create rule r as on insert to things do also delete from svc.raw_turns',
      'create temp table sessions (id uuid)',
      'create materialized view m as select 1',
      `create table a (n text default set_config('role', 'none', false))`,
      'create policy p on things using (true)',
      'grant all on things to public',
      'alter table things owner to postgres',
      'alter table things set schema svc_v1',
      "comment on database postgres is 'mine'",
      'set role postgres',
      'select 1 as n into stolen',
      'create extension vector',
      `create view v as select pg_sleep(1)`,
      'copy things from stdin',
      'alter role postgres nosuperuser',
      'create domain d as text check (pg_sleep(1) is null)',
    ]) {
      const error = await cassettes
        .migrate('mine', [
          { name: '0001', sql: 'create table things (n integer)' },
          { name: '0002', sql: text },
        ])
        .then(
          () => undefined,
          (thrown: Error) => thrown,
        );
      assert.is(error?.name, 'MigrationRefused', text);
      await unharmed();
    }
    assert.is(
      (await database().sql(`select count(*)::integer as n from svc.cassette_migrations where cassette = 'mine'`))[0]
        ?.n,
      1,
    );
  });
});

async function streamed(db: CassetteDb, text: string): Promise<unknown[]> {
  const rows: unknown[] = [];
  for await (const row of db.stream(text)) rows.push(row);
  return rows;
}
