/** A split service whose database fails in each way that a server can: nothing is lost or doubled, and readiness says what is wrong. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertReady, assertUnready, type FaultyDatabase, faultyDatabase } from '../support/faults/database-faults.ts';
import { splitUnderLoad } from '../support/faults/split.ts';
import { hasPgbouncer, startPgbouncer } from '../support/pgbouncer.ts';

const cluster = process.env.SVC_TEST_DSN ?? '';
const SIZES = { proxy: 1, ingest: 1, derive: 2, api: 1 };
const RATE = { callsPerSecond: 4, turnsPerSecond: 4 };
const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

const test = suite('a database that fails under a split service (server)');

test('sessions ended, connections reset, a fail-over, no connection left: each is survived', async () => {
  let database: FaultyDatabase | undefined;
  const through = async (dsn: string) => {
    database = await faultyDatabase(dsn);
    return database;
  };
  const figures = await splitUnderLoad({ cluster, sizes: SIZES, ...RATE, through }, async ({ fleet }) => {
    assert.ok(database);
    const { relay, terminate, fill } = database;
    for (let n = 0; n < 3; n++) {
      await pause(300);
      await terminate();
      await pause(300);
      relay.reset(); // in the middle of whatever is sent
    }
    await assertReady(fleet);
    await relay.cut(); // a fail-over: all connections end, and for a while nobody answers
    await assertUnready(fleet, 'the database cannot be reached');
    await relay.mend();
    await assertReady(fleet);
    await fill(true);
    await assertUnready(fleet, 'the database has no connection left');
    await fill(false);
    await assertReady(fleet);
    await pause(2_000);
  });
  assert.ok(figures.captured > 10 && figures.sent > 10, `the load was real: ${JSON.stringify(figures)}`);
  assert.is(figures.captured, figures.calls, 'no proxy was killed: all is captured');
});

test('through PgBouncer in transaction mode: all roles work, also when it is restarted', async () => {
  let restart = async () => {};
  const through = async (dsn: string) => {
    const pooler = await startPgbouncer(dsn, 8);
    restart = pooler.restart;
    return { dsn: pooler.through(dsn), close: pooler.close };
  };
  const env = { SVC_STORAGE_POOLED: 'true' };
  const figures = await splitUnderLoad({ cluster, sizes: SIZES, ...RATE, through, env }, async ({ fleet, killed }) => {
    await pause(2_000);
    await restart();
    await assertReady(fleet);
    const [derive] = fleet.of('derive');
    assert.ok(derive);
    await killed(derive);
    await pause(2_000); // on a quick machine all this takes a second
  });
  assert.ok(figures.captured > 10 && figures.sent > 10, `the load was real: ${JSON.stringify(figures)}`);
  assert.is(figures.captured, figures.calls);
});

if (cluster === '') console.log('skip: a database that fails under a split service (server): SVC_TEST_DSN is not set');
else if (!hasPgbouncer())
  console.log('skip: a database that fails under a split service (server): pgbouncer is not installed');
else test.run();
