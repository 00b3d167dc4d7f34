/** A cassette's time in the database is bounded: storing gets its share, migrations end, and streams that nobody reads take no disk. */
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import type { CassetteDatabases } from '../../../../core/cassette/database/cassette-databases.ts';
import { MigrationRefused } from '../../../../core/db/cassette/grants-unavailable.ts';
import { cassettesOf, furnished, refusal } from '../../../support/cassette-database.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { eventually } from '../../../support/eventually.ts';

/** Takes so long on any machine; beyond the 200 ms that are free, its owner waits as long. (core/db/client/embedded.ts) */
const SLOW_MS = 800;
const PAUSE_MS = SLOW_MS - 200;
const SLOW = `select 1 from (select generate_series(1, 2000000000)) as s
  where clock_timestamp() > statement_timestamp() + interval '${SLOW_MS} milliseconds' limit 1`;
const WINDOW_MS = 8 * SLOW_MS;
const ENDLESS = 'select count(*) from generate_series(1, 1000000) a, generate_series(1, 1000000) b';

databaseSuite('database time', (test, database) => {
  let cassettes: CassetteDatabases;
  test.before(() => {
    cassettes = cassettesOf(database());
  });
  test.after(() => cassettes.close());

  test('slow statements, several at once, leave the service half of the embedded database', async () => {
    if (database().kind === 'server') return;
    const greedy = await Promise.all(['one', 'two'].map((name) => furnished(cassettes, name)));
    for (const db of greedy) await db.query(SLOW); // which makes both owners that are charged
    let over = false;
    let done = 0;
    const asking = greedy.flatMap((db) =>
      Array.from({ length: 3 }, async () => {
        while (!over) {
          await db.query(SLOW);
          if (!over) done += 1;
        }
      }),
    );
    const spans: number[] = [];
    const began = performance.now();
    while (performance.now() - began < WINDOW_MS) {
      const sent = performance.now();
      await database().execute('ping', {});
      spans.push(performance.now() - sent);
    }
    over = true;
    const window = performance.now() - began;
    const waited = spans.filter((ms) => ms > SLOW_MS / 2).reduce((sum, ms) => sum + ms, 0);
    const figures = `${done} statements, ${Math.round(waited)} of ${Math.round(window)} ms waited`;
    assert.ok(done > 0 && done <= window / (SLOW_MS + PAUSE_MS) + 1, figures);
    assert.ok(waited < 0.75 * window, figures);
    assert.ok(spans.length > 20, `${spans.length} answers to the service`);
    await Promise.all(asking);
  });

  test('short statements of many are not slowed', async () => {
    const db = await furnished(cassettes, 'brief');
    const began = performance.now();
    await Promise.all(Array.from({ length: 200 }, (_, i) => db.query('select $1::integer as n', [i])));
    assert.ok(performance.now() - began < 20_000);
  });

  test('a migration that takes too long is ended, charged, and says so', async () => {
    if (database().kind === 'server') return;
    await furnished(cassettes, 'endless');
    const migrations = [
      { name: '0001', sql: '' },
      { name: '0002', sql: `create table things (n bigint); insert into things ${ENDLESS}` },
    ];
    const began = performance.now();
    const error = await cassettes.migrate('endless', migrations).catch((thrown: unknown) => thrown);
    assert.ok(performance.now() - began < 60_000);
    assert.instance(error, MigrationRefused);
    assert.ok((error as MigrationRefused).final);
    assert.match((error as MigrationRefused).message, /ended after 10 s/);
    await eventually(() =>
      database()
        .execute('ping', {})
        .then(
          () => true,
          () => false,
        ),
    );
  });

  test('four streams are open at a time, and the next waits for one of them', async () => {
    const db = await furnished(cassettes, 'streams');
    const open = Array.from({ length: 4 }, () =>
      db.stream(`select repeat('x', 100000) as x from generate_series(1, 60)`)[Symbol.asyncIterator](),
    );
    await Promise.all(open.map((each) => each.next()));
    let fifth = false;
    const waiting = (async () => {
      for await (const _ of db.stream('select 1 as n')) fifth = true;
    })();
    await sleep(300);
    assert.not(fifth);
    assert.equal((await db.query('select 2 as n')).rows, [{ n: 2 }], 'statements go on');
    await open[0]?.return?.();
    await waiting;
    assert.ok(fifth);
    await Promise.all(open.map((each) => each.return?.()));
  });

  test('on the embedded database a stream keeps at most 256 MB for its reader', async () => {
    if (database().kind === 'server') return;
    const db = await furnished(cassettes, 'wide');
    const read = async () => {
      for await (const _ of db.stream(`select repeat('x', 1000000) from generate_series(1, 300)`)) break;
    };
    assert.match((await refusal(read())).message, /larger than 256 MB/);
    const builtIn = cassettes.db('own', { builtIn: true });
    await cassettes.provision({ name: 'own', views: [], extensions: [] });
    let rows = 0;
    for await (const _ of builtIn.stream(`select repeat('x', 1000000) from generate_series(1, 300)`)) rows += 1;
    assert.is(rows, 300);
  });

  test('thousands of statements that wait are refused as transient', async () => {
    const db = await furnished(cassettes, 'many');
    const settled = await Promise.allSettled(Array.from({ length: 1_500 }, (_, i) => db.query(`select ${i % 3}`)));
    const refused = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
    assert.ok(refused.length > 0 && refused.length < 600, `${refused.length} refused`);
    assert.ok(refused.every(({ transient }) => transient === true));
  });
});
