/** A cassette's migrations run once each, as its role, whole or not at all; what they say is read before any of them runs. */
import * as assert from 'uvu/assert';
import type { CassetteDatabases } from '../../../../core/cassette/database/cassette-databases.ts';
import { MigrationRefused } from '../../../../core/db/cassette/grants-unavailable.ts';
import { cassettesOf } from '../../../support/cassette-database.ts';
import { databaseSuite } from '../../../support/databases.ts';

databaseSuite('migrate-cassette', (test, database) => {
  let cassettes: CassetteDatabases;
  let name = '';
  let count = 0;
  test.before(() => {
    cassettes = cassettesOf(database());
  });
  test.after(() => cassettes.close());
  test.before.each(async () => {
    count += 1;
    name = `moved-${count}`;
    await cassettes.provision({ name, views: ['sessions'], extensions: [] });
  });
  const refused = async (...files: [name: string, sql: string][]): Promise<MigrationRefused> => {
    const error = await cassettes
      .migrate(
        name,
        files.map(([file, sql]) => ({ name: file, sql })),
      )
      .catch((thrown: unknown) => thrown);
    assert.instance(error, MigrationRefused);
    return error as MigrationRefused;
  };
  const applied = async () =>
    (
      await database().sql('select name from svc.cassette_migrations where cassette = $1 order by position', [name])
    ).map((row) => row.name);
  const tables = async () =>
    (
      await database().sql(`select tablename from pg_tables where schemaname = $1 order by 1`, [
        `cassette_${name.replace('-', '_')}`,
      ])
    ).map((row) => row.tablename);

  test('whatever a schema is made of may be made, changed and dropped', async () => {
    const all = `
      -- a comment with a ; in it
      create type mood as enum ('good', 'bad');
      create type pair as (one integer, two text);
      create domain short as text check (length(value) < 10);
      create sequence counted;
      create table things (
        id bigserial primary key, n integer default nextval('counted'), m mood, p pair, s short,
        session_id uuid not null default gen_random_uuid(), at timestamptz not null default now(),
        unique (session_id, n)
      );
      create table days (day date not null, n integer, primary key (day, n)) partition by range (day);
      create table days_1 partition of days for values from ('2026-01-01') to ('2027-01-01');
      create table plain (id bigint generated always as identity primary key, name text collate "C" not null);
      create table parts (plain_id bigint references plain on delete cascade, text text);
      create unique index on plain (lower(name));
      create view names as select name from plain;
      create view mine as select s.id from svc_v1.sessions s;
      comment on table plain is 'it''s plain';
      alter table plain add column more jsonb not null default '{}', alter column name drop not null;
      alter table plain rename column more to extra;
      alter type mood add value 'none';
      insert into plain (name) select n::text from generate_series(1, 3) n;
      update plain set name = 'x' where id = 1;
      delete from plain where id = 2;
      truncate parts;
      drop index plain_lower_idx;
      drop view names;
      drop table things, parts, days;
      drop type pair;
      drop sequence counted cascade`;
    await cassettes.migrate(name, [{ name: '0001_all', sql: all }]);
    assert.equal(await tables(), ['plain']);
    const { rows } = await cassettes.db(name).query('select id, name, extra from plain order by id');
    assert.equal(rows, [
      { id: 1, name: 'x', extra: {} },
      { id: 3, name: '3', extra: {} },
    ]);
  });

  test('each runs once, and later ones are added', async () => {
    const files = [
      { name: '1', sql: 'create table a (n integer)' },
      { name: '2', sql: '' },
      { name: '3', sql: 'insert into a values (1)' },
    ];
    await cassettes.migrate(name, files.slice(0, 1));
    await cassettes.migrate(name, files);
    await cassettes.migrate(name, files);
    assert.equal(await applied(), ['1', '2', '3']);
    assert.equal((await cassettes.db(name).query('select n from a')).rows, [{ n: 1 }]);
  });

  test('one that fails leaves nothing of those that came with it, so that the version before can be put back', async () => {
    const before: [string, string] = ['1', 'create table a (n integer)'];
    await cassettes.migrate(name, [{ name: '1', sql: before[1] }]);
    const error = await refused(
      before,
      ['2', 'create table b (n integer)'],
      ['3', 'create table c (n integer); insert into c values (1); insert into c select n / 0 from c'],
      ['4', 'create table d (n integer)'],
    );
    assert.is(error.migration, '3');
    assert.match(error.message, /^Cannot migrate: 3: .*\(22012\)$/);
    assert.equal(await applied(), ['1']);
    assert.equal(await tables(), ['a']);
    await cassettes.migrate(name, [{ name: '1', sql: before[1] }]);
    assert.match((await refused(before, ['2', 'select * from nowhere'])).reason, /nowhere/);
  });

  test('a deferred constraint is checked at the end of the migration that breaks it', async () => {
    const made: [string, string] = [
      '1',
      `create table a (n integer primary key);
       create table b (n integer references a deferrable initially deferred);
       insert into b values (1); insert into a values (1)`,
    ];
    const error = await refused(made, ['2', 'insert into b values (2)'], ['3', 'alter table b add column m integer']);
    assert.match(error.message, /^Cannot migrate: 2: .*\(23503\)$/);
    await cassettes.migrate(
      name,
      [
        made,
        ['2', 'alter table b add column m integer'],
        ['3', 'insert into b values (2); insert into a values (2)'],
      ].map(([file = '', sql = '']) => ({ name: file, sql })),
    );
    assert.equal(await applied(), ['1', '2', '3']);
  });

  test('a new value of an enum type can be used at once when the type is new too', async () => {
    const files = [
      { name: '1', sql: `create type mood as enum ('good'); create table a (m mood)` },
      { name: '2', sql: `alter type mood add value 'bad'` },
      { name: '3', sql: `insert into a values ('bad')` },
    ];
    await cassettes.migrate(name, files);
    assert.equal((await cassettes.db(name).query('select m from a')).rows, [{ m: 'bad' }]);
  });

  test('none runs when one of them cannot be read', async () => {
    const error = await refused(['1', 'create table a (n integer)'], ['2', 'create table b (n integer);\n\nvacuum b']);
    assert.match(error.message, /^Cannot migrate: 2: line 3: VACUUM is not for cassettes$/);
    assert.match((await refused(['1', 'create tabel a ()'])).message, /syntax error at or near "tabel"/);
    assert.equal(await applied(), []);
    assert.equal(await tables(), []);
  });

  test('an edited, missing or late one is told', async () => {
    const one: [string, string] = ['1', 'create table a (n integer)'];
    const two: [string, string] = ['2', 'create table b (n integer)'];
    await cassettes.migrate(
      name,
      [one, two].map(([file, sql]) => ({ name: file, sql })),
    );
    assert.match((await refused(one, ['2', 'create table b (n text)'])).message, /2: it was edited after it had run/);
    assert.match((await refused(one)).message, /2: it has run, and this version of the cassette lacks it/);
    assert.match((await refused(one, ['3', ''], two)).message, /3: it stands before 2, which has run/);
    assert.match((await refused(one, one)).message, /1: there are two of this name/);
    assert.match((await refused(['../x', ''])).message, /no name/);
  });

  test('what would do instead is said', async () => {
    for (const [sql, says] of [
      ['create schema mine', /its schema is there already/],
      ['create extension vector', /depends\.extensions/],
      ['begin; create table a (n integer); commit', /runs in a transaction as it is/],
      ['create index concurrently on a (n)', /CONCURRENTLY is not/],
      ['create table a as select 1', /then insert into it/],
      ['create table svc_v1.a (n integer)', /permission denied|svc_v1/],
      ['drop table cassette_other.a', /is not its own; its schema is/],
      ['drop function f()', /cannot change or drop a function/],
      ['select $1', /parameters have no place/],
      ['alter table a enable trigger all', /triggers, rules and policies/],
    ] as const) {
      assert.match((await refused(['1', sql])).message, says);
    }
    assert.equal(await applied(), []);
  });
});
