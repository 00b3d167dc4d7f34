/** Partitions of a server's tables: when a new one begins, what is stored in which, and what does not notice them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql as statement } from 'drizzle-orm';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openPool } from '../../../../core/db/client/server.ts';
import { LOCK_TIMEOUT } from '../../../../core/db/sqlstates.ts';
import { DatabaseError, OperatorError } from '../../../../core/errors.ts';
import { agedTurn, assertVerified, session, storeAged } from '../../../support/aged-sessions.ts';
import { isCitus } from '../../../support/citus-cluster.ts';
import { serverDatabase, type TestDatabase } from '../../../support/databases.ts';
import { eventually } from '../../../support/eventually.ts';
import { testIngest } from '../../../support/ingested-turns.ts';
import { changePartition, partitionedDatabase, partitionNow, tablesOf } from '../../../support/partitioned-database.ts';
import { assertWhole } from '../../../support/stored-bytes.ts';

const dsn = process.env.SVC_TEST_DSN ?? '';
const test = suite('partitions');

let database: TestDatabase;
test.before.each(async () => {
  database = await partitionedDatabase(dsn);
});
test.after.each(() => database?.close());

const numbers = async (table: string) =>
  (await database.sql(`select distinct partition_no from svc.${table} order by 1`)).map((row) => row.partition_no);

test('a new one begins when the month is over, once, whoever looks', async () => {
  const change = () => database.execute('changePartition', { interval: 'month' });
  assert.is(await change(), false, 'it has just begun');
  await database.sql(`update svc.partitions set began_at = began_at - interval '31 days' where ended_at is null`);
  assert.equal((await Promise.all([change(), change(), change()])).sort(), [false, false, true]);
  assert.equal(await tablesOf(database, 'spans'), ['spans_kept', 'spans_p0', 'spans_p1', 'spans_p2']);
  const [, first, second] = await database.execute('partitions', {});
  assert.equal([first?.partition_no, second?.partition_no, second?.ended_at], [1, 2, null]);
  assert.ok(first?.ended_at);
});

test('where the tables are not partitioned, none begins', async () => {
  const plain = await serverDatabase(dsn);
  try {
    if (process.env.SVC_TEST_PARTITIONED === 'true') return;
    assert.is(await plain.execute('changePartition', { interval: 'day' }), false);
    assert.equal(await plain.execute('partitions', {}), []);
  } finally {
    await plain.close();
  }
});

test('nobody waits long for a new partition behind one who reads for long', async () => {
  await database.sql(`update svc.partitions set began_at = began_at - interval '31 days' where ended_at is null`);
  const pool = openPool({ dsn: database.dsn ?? '', pooled: false, size: 1 });
  let read = () => {};
  const reading = pool.sqlFor(60_000).transaction(async (tx) => {
    await tx.rows(statement`select count(*) from svc.spans`);
    await new Promise<void>((resolve) => {
      read = resolve;
    });
  });
  try {
    while (!(await database.sql(`select 1 from pg_locks where relation = 'svc.spans'::regclass`)).length)
      await sleep(10);
    const failed = await database.execute('changePartition', { interval: 'month' }).catch((error: unknown) => error);
    assert.ok(failed instanceof DatabaseError && failed.sqlstate === LOCK_TIMEOUT, String(failed));
  } finally {
    read();
    await reading;
    await pool.close();
  }
  assert.is(await database.execute('changePartition', { interval: 'month' }), true);
});

test('statistics of the whole are taken once their rows have grown', async () => {
  assert.is(await database.execute('analyzePartitioned', {}), false);
  await database.sql(`
    insert into svc.slices (slice_id, codec, size_bytes, bytes) select sha256(i::text::bytea), 0, 1, '' from generate_series(1, 2000) i`);
  await database.sql('select pg_stat_force_next_flush()');
  await eventually(() => database.execute('analyzePartitioned', {}));
  assert.is(await database.execute('analyzePartitioned', {}), false);
  const known = await database.sql(
    `select 1 from pg_stats where schemaname = 'svc' and tablename = 'slices' and inherited`,
  );
  assert.ok(known.length > 0);
});

test('a turn has all its slices in its partition, and its session keeps its nodes and spans together', async () => {
  await storeAged(database, { one: { turns: 2, days: 40 } });
  await changePartition(database);
  const writer = await testIngest(database); // which knows the slices of before as stored
  assert.is((await writer.append(agedTurn('one', 2, 1), null)).kind, 'accepted');
  await changePartition(database);
  assert.is((await writer.append(agedTurn('one', 3, 0), null)).kind, 'accepted');
  await storeAged(database, { two: { turns: 1, days: 0 } });
  assert.equal(await numbers('raw_turns'), [1, 2, 3]);
  assert.equal(await numbers('slices'), [1, 2, 3]);
  const ofOne = `session_id = '${session('one')}'`;
  for (const table of ['nodes', 'spans'])
    assert.equal(
      await database.sql(`select distinct partition_no from svc.${table} where ${ofOne}`),
      [{ partition_no: 1 }],
      table,
    );
  const lost = await database.sql(`
    select t.raw_turn_id from svc.raw_turns t
     where not exists (select from svc.slices s where s.slice_id = t.response_slice and s.partition_no = t.partition_no)`);
  assert.equal(lost, []);
  assert.is(await assertWhole(database), 5);
  assert.equal(await assertVerified(database), { turns: 5, purged: 0 });
});

test('a turn that comes twice is stored once, in whichever partition', async () => {
  const turn = agedTurn('one', 0, 1);
  const writer = await testIngest(database);
  const first = await writer.append(turn, null);
  await changePartition(database);
  const second = await writer.append(turn, null);
  assert.equal([first.kind, second.kind], ['accepted', 'accepted']);
  assert.equal(await database.sql('select count(*)::integer as turns from svc.raw_turns'), [{ turns: 1 }]);
});

test('the log refuses changes in every partition', async () => {
  await storeAged(database, { one: { turns: 1, days: 1 } });
  for (const change of [
    'delete from svc.raw_turns',
    "update svc.raw_turns set url = 'x'",
    'delete from svc.raw_turns_p1',
  ]) {
    const refused = await database.sql(change).catch((error: unknown) => error);
    assert.match(String(refused), /the capture log is append-only/, change);
  }
});

test('a purge removes the slices of a session from each partition, and no other', async () => {
  await storeAged(database, { one: { turns: 2, days: 40 }, two: { turns: 1, days: 40 } });
  await changePartition(database);
  await storeAged(database, { one: { turns: 3, days: 1 } });
  const opened = await database.execute('openPurge', { session_id: session('one') });
  assert.is(opened?.raw_turns, 5);
  const purge = { session_id: session('one'), up_to: opened?.up_to ?? 0, made: [], reason: 'test' };
  const { slices } = await database.execute('purgeSession', purge);
  assert.ok(slices > 5, `${slices} slices went`);
  assert.equal(await numbers('raw_turns'), [1]);
  await assertWhole(database);
  assert.equal(await assertVerified(database), { turns: 1, purged: 5 });
});

test('the status names them', async () => {
  await storeAged(database, { one: { turns: 1, days: 1 } });
  await changePartition(database);
  const { database: status } = await database.execute('readStatus', { counted_bytes: 1 });
  const [before, first, current] = status.partitions ?? [];
  assert.is(before?.began_at, undefined);
  assert.ok(first?.ended_at && first.bytes > 100_000);
  assert.ok(current?.began_at && current.ended_at === undefined);
});

test('a distributed database is not partitioned', async () => {
  const other = await serverDatabase(dsn);
  try {
    if (process.env.SVC_TEST_PARTITIONED === 'true') return;
    await other.sql('create schema svc_remote');
    await other.sql('create table svc_remote.spans ()');
    const refused = await partitionNow(other).catch((error: unknown) => error);
    assert.ok(refused instanceof OperatorError);
    assert.match(refused.message, 'its tables are distributed');
  } finally {
    await other.close();
  }
});

if (dsn === '' || isCitus(dsn)) console.log('skip: partitions: SVC_TEST_DSN names no server of its own');
else test.run();
