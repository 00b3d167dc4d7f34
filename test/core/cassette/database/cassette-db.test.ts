/** What a cassette puts in and gets back is the same on both databases; what takes too long is ended, and counted. */
import pino from 'pino';
import * as assert from 'uvu/assert';
import { DB_SETTINGS, type Db } from '../../../../core/cassette/contract.ts';
import type { CassetteDatabases } from '../../../../core/cassette/database/cassette-databases.ts';
import { type CassetteDb, cassetteDb } from '../../../../core/cassette/database/cassette-db.ts';
import { openParser } from '../../../../core/cassette/database/parser-thread.ts';
import { openQuota } from '../../../../core/cassette/database/quota.ts';
import { settingNames } from '../../../../core/cassette/database/statement-settings.ts';
import { DatabaseError } from '../../../../core/errors.ts';
import { cassettesOf, coreSession, furnished, refusal } from '../../../support/cassette-database.ts';
import { databaseSuite } from '../../../support/databases.ts';

const TABLES = `
  create type mood as enum ('good', 'bad');
  create table things (id bigint generated always as identity primary key, j jsonb, b bytea, t timestamptz, n numeric, m mood, a text[]);
  create sequence counted;`;
const ENDLESS = 'select count(*) from generate_series(1, 1000000) a, generate_series(1, 1000000) b';
const LIMIT_MS = 2000;

databaseSuite('cassette-db', (test, database) => {
  let cassettes: CassetteDatabases;
  let db: CassetteDb;
  test.before(async () => {
    cassettes = cassettesOf(database());
    db = await furnished(cassettes, 'mine', { tables: TABLES });
  });
  test.after(() => cassettes.close());

  const read = async (stream: AsyncIterable<unknown>, most = Number.POSITIVE_INFINITY) => {
    const rows: unknown[] = [];
    for await (const row of stream) {
      rows.push(row);
      if (rows.length >= most) break;
    }
    return rows;
  };

  test('it is what an author sees, with the same settings', () => {
    const binding: Db = db;
    assert.ok(binding);
    assert.equal(settingNames().sort(), [...DB_SETTINGS].sort());
  });

  test('values come back as JSON of PostgreSQL has them', async () => {
    const given = [{ a: "o'\\x" }, new Uint8Array([1, 255]), new Date(0), '0.10', 'good', '{"x y",z}'];
    const { rows, row_count } = await db.query(
      'insert into things (j, b, t, n, m, a) values ($1, $2, $3, $4, $5, $6) returning j, b, t at time zone $7 as t, n, m, a',
      [...given, 'UTC'],
    );
    assert.is(row_count, 1);
    assert.equal(rows, [
      { j: { a: "o'\\x" }, b: '\\x01ff', t: '1970-01-01T00:00:00', n: 0.1, m: 'good', a: ['x y', 'z'] },
    ]);
  });

  test('bytes are hex, whatever bytea_output the database has', async () => {
    const set = (value: string) =>
      database().sql(`do $$ begin execute format('alter database %I ${value}', current_database()); end $$`);
    const query = "select '\\x01ff'::bytea as b";
    if (database().dsn) await set("set bytea_output to ''escape''");
    const others = cassettesOf(database());
    try {
      const other = await furnished(others, 'bytes');
      assert.equal((await other.query(query)).rows, [{ b: '\\x01ff' }]);
      assert.equal(await read(other.stream(query)), [{ b: '\\x01ff' }]);
    } finally {
      await others.close();
      if (database().dsn) await set('reset bytea_output');
    }
  });

  test('parameters stand for themselves, whatever is in them', async () => {
    const texts = [
      "'; drop table things; --",
      '\\',
      "\\'",
      '$1',
      '"',
      "E'\\''",
      'ü€🎉',
      '',
      '(select 1)',
      "''",
      '\n',
      '$',
      'a$$',
      '$q$',
    ];
    for (const text of texts) {
      assert.equal((await db.query('select $1::text as text', [text])).rows, [{ text }]);
      assert.equal(await read(db.stream('/* ü $1 */ select $1::text as text -- $1', [text])), [{ text }]);
    }
    const { rows } = await db.query('select $2::text as two, $1::text as one, $2 || $1 as both, \'$1\' as "$2"', [
      'a',
      'b',
    ]);
    assert.equal(rows, [{ two: 'b', one: 'a', both: 'ba', $2: '$1' }]);
    assert.equal((await db.query('select 10 - $1 as n limit $2', [-5, 1])).rows, [{ n: 15 }]);
    assert.equal(
      (await db.query('select $1::boolean as b, $2::text as n, $3::bigint as i', [true, null, 2n ** 40n])).rows,
      [{ b: true, n: null, i: 2 ** 40 }],
    );
    assert.equal((await db.query('select $1::jsonb as j', [[1, { a: null }]])).rows, [{ j: [1, { a: null }] }]);
  });

  test('parameters that cannot be passed are refused by their number', async () => {
    assert.match((await refusal(db.query('select $1::text', ['a\0b']))).message, /\$1 holds a NUL/);
    assert.match((await refusal(db.query('select $1::text', [() => 1]))).message, /\$1 is a function/);
    assert.match((await refusal(db.query('select $2::text', ['a']))).message, /up to \$2, and 1 came/);
    assert.match((await refusal(db.query('select 1', ['a']))).message, /no parameters, and 1 came/);
    assert.match((await refusal(db.query('select $0', []))).message, /\$1, \$2/);
  });

  test('a refused value is not told', async () => {
    const error = await refusal(db.query('select $1::integer', ['my-secret']));
    assert.is(error.sqlstate, '22P02');
    assert.not.match(error.message, 'my-secret');
    assert.match((await refusal(db.query('selec 1'))).message, /syntax error at or near "selec"/);
    assert.is((await refusal(db.query('selec 1'))).sqlstate, '42601');
  });

  test('arrays keep the order of columns, and equal names', async () => {
    const text = 'select 1 as b, 2 as a, 3 as b, 4 as "0", null as n, \'{"x": [1]}\'::jsonb as j';
    const values = [1, 2, 3, 4, null, { x: [1] }];
    assert.equal((await db.query(text, [], { rows: 'array' })).rows, [values]);
    assert.equal(await read(db.stream(text, [], { rows: 'array' })), [values]);
    assert.equal((await db.query('select', [], { rows: 'array' })).rows, [[]]);
  });

  test('what writes says how many rows it changed', async () => {
    assert.equal(await db.query('insert into things (n) select n from generate_series(1, 7) n'), {
      rows: [],
      row_count: 7,
    });
    assert.is((await db.query('update things set m = $1 where n > 5', ['bad'])).row_count, 2);
    const returned = await db.query(
      'with gone as (delete from things where m = $1 returning n) select n from gone order by n',
      ['bad'],
    );
    assert.equal(returned, { rows: [{ n: 6 }, { n: 7 }], row_count: 2 });
    assert.is(
      (await db.query('merge into things t using (select 1 as n) s on t.n = s.n when matched then delete')).row_count,
      1,
    );
  });

  test('a stream gives every row once, in order, while others are answered', async () => {
    let expected = 0;
    for await (const row of db.stream<{ n: number; pad: string }>(
      `select n, repeat('x', 300) as pad from generate_series(1, 20000) n order by n`,
    )) {
      expected += 1;
      if (row.n !== expected) assert.unreachable(`${row.n} came where ${expected} was due`);
      if (row.n % 5000 === 1) {
        await database().execute('ping', {});
        assert.equal((await db.query(`select nextval('counted') > 0 as t`)).rows, [{ t: true }]);
      }
    }
    assert.is(expected, 20_000);
    assert.equal(await read(db.stream('select 1 as n where false')), []);
  });

  test('a stream that is left leaves nothing open', async () => {
    const before = await coreSession(database());
    for (let i = 0; i < 12; i += 1) {
      assert.is((await read(db.stream('select n from generate_series(1, 10000) n'), 3)).length, 3);
    }
    const cursors = await database().sql(`select name from pg_cursors where name like 'cassette%'`);
    assert.equal(cursors, []);
    assert.equal(await coreSession(database()), before);
  });

  test('a stream fails where its rows do, and only a SELECT is streamed', async () => {
    const late = await refusal(read(db.stream('select 1 / (5000 - n) as n from generate_series(1, 6000) n')));
    assert.is(late.sqlstate, '22012');
    const written = await refusal(read(db.stream('insert into things (n) values (1) returning n')));
    assert.match(written.message, /only a SELECT that changes nothing/);
    assert.equal((await db.query('select 1 as n')).rows, [{ n: 1 }]);
  });

  test('on a server a stream runs no further than it is read', async () => {
    if (database().kind === 'embedded') return;
    await db.query(`select setval('counted', 1)`);
    await read(db.stream(`select nextval('counted') as n from generate_series(1, 100000)`), 10);
    const [row] = (await db.query<{ n: number }>('select last_value as n from counted')).rows;
    assert.ok(row && row.n < 1000, JSON.stringify(row));
  });

  test('more rows than fit are refused with what would do', async () => {
    const error = await refusal(db.query(`select repeat('x', 1000000) from generate_series(1, 100)`));
    assert.match(error.message, /larger than 64 MB: ask for fewer, or stream them/);
  });

  test('settings hold for one statement, within bounds', async () => {
    const before = await coreSession(database());
    const settings = { work_mem: '5MB', enable_seqscan: false, 'hnsw.ef_search': 100, jit: 'off' };
    assert.equal((await db.query('select 1 as n', [], { settings })).rows, [{ n: 1 }]);
    assert.equal(await read(db.stream('select 1 as n', [], { settings })), [{ n: 1 }]);
    assert.equal(await coreSession(database()), before);
    for (const [name, value] of Object.entries({
      work_mem: '1GB',
      maintenance_work_mem: 300_000,
      'hnsw.ef_search': 0,
      enable_seqscan: 'maybe',
      'hnsw.iterative_scan': 'all',
      search_path: 'svc',
      role: 'none',
      toString: 'x',
    })) {
      const error = await refusal(db.query('select 1', [], { settings: { [name]: value } as never }));
      assert.match(error.message, name);
    }
  });

  test('what nests too deeply is refused, and the next is run', async () => {
    const texts = [
      `select ${Array(20_000).fill('1').join('+')}`,
      `select ${'abs('.repeat(400)}1${')'.repeat(400)}`,
      `select ${'(select '.repeat(400)}1${')'.repeat(400)}`,
      `select ${'('.repeat(20_000)}1${')'.repeat(20_000)}`,
    ];
    for (const [i, text] of texts.entries()) {
      const own = await furnished(cassettes, `deep-${i}`); // three of them would pause it
      assert.match((await refusal(own.query(text))).message, /nests too deeply|memory exhausted/);
      assert.equal((await own.query(`select ${Array(500).fill('1').join('+')} as n`)).rows, [{ n: 500 }]);
    }
  });

  test('a 60 s query is ended, and the core goes on', async () => {
    const before = await coreSession(database());
    const troubles: string[] = [];
    await furnished(cassettes, 'slow');
    const slow = cassettes.db('slow', { statementMs: LIMIT_MS, onTrouble: (what) => troubles.push(what) });
    for (const ask of [() => slow.query(ENDLESS), () => read(slow.stream(ENDLESS))]) {
      const pending = ask();
      const error = await refusal(pending);
      assert.is(error.sqlstate, '57014');
      assert.not(error.transient);
      assert.match(error.message, /took longer than 2 s/);
      await answered(() => database().execute('ping', {}));
      assert.equal(await coreSession(database()), before);
    }
    assert.is(troubles.length, 2);
    assert.equal((await slow.query('select 1 as n')).rows, [{ n: 1 }]);
  });

  test('of what was under way only the one that took too long is charged', async () => {
    if (database().kind === 'server') return;
    await furnished(cassettes, 'late');
    const [slow, behind] = [cassettes.db('late', { statementMs: LIMIT_MS }), cassettes.db('mine')];
    const first = slow.query(ENDLESS);
    await new Promise((resolve) => setTimeout(resolve, 200)); // until it runs
    const queries = [first, behind.query('select 1'), database().execute('ping', {})];
    const [late, other, core] = await Promise.all(queries.map((each) => refusal(each)));
    assert.is(late?.sqlstate, '57014');
    assert.equal([other?.sqlstate, other?.transient], ['', true]);
    assert.equal([core?.sqlstate, core?.transient], ['', true]);
    await answered(() => database().execute('ping', {}));
  });

  test('a value that nests too deeply is refused by the database, which goes on', async () => {
    const before = await coreSession(database());
    const error = await refusal(db.query('select $1::jsonb is null', [`${'['.repeat(200_000)}${']'.repeat(200_000)}`]));
    assert.is(error.sqlstate, '54001');
    assert.equal(await coreSession(database()), before);
  });

  test('three of them within ten minutes cost a minute', async () => {
    let now = 0;
    const lines: Record<string, unknown>[] = [];
    const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const late = async () => {
      throw new DatabaseError('late', '57014', true);
    };
    const calls = { run: late, stream: late as never };
    const quota = openQuota({ name: 'mine', kind: 'server', builtIn: false, log, now: () => now });
    const parser = openParser();
    const own = cassetteDb({ name: 'mine', schema: 'cassette_mine', calls: () => calls, parser, quota, log }, {});
    for (const at of [0, 599_000, 1_198_000, 1_198_500]) {
      now = at;
      assert.is((await refusal(own.query('select 1'))).sqlstate, '57014', String(at));
    }
    const error = await refusal(own.query('select 1'));
    assert.match(error.message, /3 statements of 'mine' took too long.* after 1970-01-01T00:20:58/);
    assert.is(error.sqlstate, '');
    now += 60_001;
    assert.is((await refusal(own.query('select 1'))).sqlstate, '57014');
    assert.ok(lines.every(({ cassette }) => cassette === 'mine') && lines.length > 0);
    await parser.close();
  });

  /** The embedded database's thread takes a moment to come back; what is asked meanwhile may be refused as transient. */
  async function answered<T>(ask: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (!(error instanceof DatabaseError && error.transient)) throw error;
      }
    }
  }
});
