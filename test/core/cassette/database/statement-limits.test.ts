/** What a cassette's statement may cost: its text, its parameters and its parsing are bounded, and none of it holds the service up. */
import { performance } from 'node:perf_hooks';
import * as assert from 'uvu/assert';
import type { CassetteDatabases } from '../../../../core/cassette/database/cassette-databases.ts';
import type { CassetteDb } from '../../../../core/cassette/database/cassette-db.ts';
import { quotedText } from '../../../../core/db/literals.ts';
import { cassettesOf, furnished, refusal } from '../../../support/cassette-database.ts';
import { databaseSuite } from '../../../support/databases.ts';

const MIB = 1024 * 1024;

databaseSuite('statement limits', (test, database) => {
  let cassettes: CassetteDatabases;
  let db: CassetteDb;
  test.before(async () => {
    cassettes = cassettesOf(database());
    db = await furnished(cassettes, 'mine', { tables: 'create table things (n integer)' });
  });
  test.after(() => cassettes.close());

  test('a parameter that is named often is counted as often, and past 16 MiB the statement is refused', async () => {
    const often = `select length(${Array(40).fill('$1').join(' || ')}) as n`;
    const refusedSoon = await refusal(db.query(often, ['x'.repeat(MIB)]));
    assert.match(refusedSoon.message, /with its parameters in it.* 16 MiB/);
    assert.is(refusedSoon.transient, false);
    assert.equal((await db.query(often, ['x'.repeat(MIB / 4)])).rows, [{ n: 10 * MIB }]);
    assert.match((await refusal(db.query('select length($1) as n', ['漢'.repeat(6 * MIB)]))).message, /16 MiB/);
  });

  test('nothing of a large parameter is escaped, which held the service up for seconds', async () => {
    const quotes = "'\\$".repeat(MIB);
    assert.ok(quotedText(quotes).length < quotes.length + 100);
    assert.equal((await db.query('select length($1) as n', [quotes])).rows, [{ n: 3 * MIB }]);
  });

  test('a text of more than 64 KiB is refused before it is parsed', async () => {
    const texts = [`select 1 /* ${'x'.repeat(65_536)} */`, `select '${'漢'.repeat(22_000)}'`];
    for (const text of texts) assert.match((await refusal(db.query(text))).message, /bytes, at most 65536 are read/);
    assert.is((await db.query(`select 1 as n /* ${'x'.repeat(65_000)} */`)).row_count, 1);
  });

  test('the loop turns while texts are parsed', async () => {
    await db.query('select 1'); // the parser is there
    const before = performance.eventLoopUtilization();
    const texts = Array.from({ length: 6 }, (_, i) => `select ${i}${',a'.repeat(32_000)} from things`);
    for (const text of texts) await refusal(db.query(text));
    const { utilization } = performance.eventLoopUtilization(before);
    assert.ok(utilization < 0.5, `it was busy for ${utilization} of the time`);
  });

  test('a text that the parser breaks on is refused, and those of others are read', async () => {
    const others = await furnished(cassettes, 'others');
    const deep = `select ${'('.repeat(30_000)}1${')'.repeat(30_000)}`;
    const [error, ...rows] = await Promise.all([
      refusal(db.query(deep)),
      others.query('select 1 as n'),
      db.query('select 2 as n'),
    ]);
    assert.match(error.message, /nests too deeply|memory exhausted/);
    assert.equal(
      rows.flatMap((each) => each.rows),
      [{ n: 1 }, { n: 2 }],
    );
  });

  test('a migration of more than 512 KiB is refused', async () => {
    const error = await cassettes
      .migrate('mine', [{ name: 'large', sql: `select 1 -- ${'x'.repeat(524_288)}` }])
      .catch((thrown: Error) => thrown);
    assert.match((error as Error).message, /large: .* at most 524288 are read/);
  });
});
