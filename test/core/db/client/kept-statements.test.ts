import { PGlite } from '@electric-sql/pglite';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type KeptStatements, keptStatements } from '../../../../core/db/client/kept-statements.ts';

const test = suite('statements that keep their plan');
let pglite: PGlite;
let kept: KeptStatements;
test.before.each(async () => {
  pglite = new PGlite();
  await pglite.waitReady;
  kept = keptStatements(pglite);
});
test.after.each(() => pglite.close());

const rows = (text: string, ...parameters: (string | null)[]) => kept.rows({ text, parameters });
const names = async () => {
  const { rows } = await pglite.query<{ name: string; statement: string }>(
    'select name, statement from pg_prepared_statements order by prepare_time, name',
  );
  return rows;
};

test('a statement is kept when it comes again, and its rows are those of its parameters each time', async () => {
  const text = 'select $1::int + 1 as next, $2::text as word';
  for (let n = 0; n < 12; n++) {
    assert.equal(await rows(text, String(n), n % 2 ? null : 'even'), [{ next: n + 1, word: n % 2 ? null : 'even' }]);
    assert.is((await names()).filter(({ statement }) => statement === text).length, n === 0 ? 0 : 1);
  }
});

test('of many statements the last ones are kept', async () => {
  for (let n = 0; n < 400; n++) for (const _ of [1, 2]) assert.equal(await rows(`select ${n} as n`), [{ n }]);
  const statements = (await names()).map(({ statement }) => statement);
  assert.ok(statements.length <= 64 && statements.length > 60, String(statements.length));
  assert.not(statements.includes('select 3 as n'));
  for (const n of [3, 399]) assert.equal(await rows(`select ${n} as n`), [{ n }]);
});

test('a statement that was refused works afterwards, in a transaction as outside of one', async () => {
  await pglite.exec('create table places (id int primary key)');
  const insert = 'insert into places (id) values ($1) returning id';
  for (const id of ['1', '2', '3']) assert.equal(await rows(insert, id), [{ id: Number(id) }]);
  const code = (promise: Promise<unknown>) => promise.then(() => null).catch((error: { code?: string }) => error.code);
  assert.is(await code(rows(insert, '3')), '23505');
  assert.is(await code(rows(insert, 'no number')), '22P02');
  assert.is(await code(rows('select nothing from nowhere')), '42P01');
  assert.equal(await rows(insert, '4'), [{ id: 4 }]);
  const failed = pglite.transaction(async () => {
    assert.equal(await rows(insert, '5'), [{ id: 5 }]);
    assert.is(await code(rows(insert, '5')), '23505');
    for (const _ of [1, 2]) assert.is(await code(rows(insert, '6')), '25P02');
    throw new Error('given up');
  });
  assert.is(await failed.catch((error: Error) => error.message), 'given up');
  for (const id of ['5', '6']) assert.equal(await rows(insert, id), [{ id: Number(id) }]);
});

test('statements that are sent at once, in a transaction and beside one of its own, each have their rows', async () => {
  const one = async (n: number) => assert.equal(await rows('select $1::int as n', String(n)), [{ n }]);
  await pglite.transaction(async () => {
    await Promise.all(Array.from({ length: 50 }, (_, n) => one(n)));
  });
  const own = async (n: number) => assert.equal((await pglite.query('select $1::int as n', [n])).rows, [{ n }]);
  await Promise.all(Array.from({ length: 50 }, (_, n) => (n % 2 ? own(n) : one(n))));
});

test('a plan that was made for an empty table is made anew while it fills', async () => {
  await pglite.exec('create table filling (id int, word text); create index filling_id on filling (id)');
  const text = 'select word from filling where id = $1';
  for (let n = 0; n < 10; n++) await rows(text, '1');
  const plan = async () => {
    const name = (await names()).find(({ statement }) => statement === text)?.name;
    return JSON.stringify((await pglite.query(`explain execute ${name}(1)`)).rows);
  };
  const small = await plan();
  await pglite.exec(`insert into filling select n, repeat('x', 200) from generate_series(1, 20000) n`);
  assert.is(await plan(), small); // PostgreSQL itself takes no notice
  for (let n = 0; n < 500; n++) await rows('select 1');
  assert.match(await plan(), /filling_id/);
  assert.is.not(await plan(), small);
});

test.run();
