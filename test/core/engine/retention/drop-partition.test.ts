/** Retention drops whole partitions: what is left, counted and proved is what it leaves where it deletes rows. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  assertCounted,
  assertVerified,
  daysAgo,
  listed,
  repeatTurns,
  session,
  stats,
  storeAged,
  storingMeanwhile,
  sweep,
} from '../../../support/aged-sessions.ts';
import { isCitus } from '../../../support/citus-cluster.ts';
import { serverDatabase, type TestDatabase } from '../../../support/databases.ts';
import { deriveAll } from '../../../support/derive-all.ts';
import { dump } from '../../../support/dump-projection.ts';
import { changePartition, partitionedDatabase, partitionNow, tablesOf } from '../../../support/partitioned-database.ts';
import { assertWhole } from '../../../support/stored-bytes.ts';

const dsn = process.env.SVC_TEST_DSN ?? '';
const test = suite('retention by partition');

let open: TestDatabase[] = [];
test.after.each(async () => {
  for (const database of open) await database.close();
  open = [];
});

const opened = async (making: Promise<TestDatabase>) => {
  const database = await making;
  open.push(database);
  return database;
};

/** An old month, with sessions that stay, and a new one. */
async function storeMonths(database: TestDatabase, between: () => Promise<void>, past = 12): Promise<void> {
  repeatTurns();
  await storeAged(database, {
    ...{ old: { turns: 3, days: 50 }, older: { turns: 2, days: 60 }, starred: { turns: 2, days: 55 } },
    ...{ long: { turns: 2, days: 45 }, forever: { turns: 1, days: 58 }, moved: { turns: 1, days: 57 } },
    ...Object.fromEntries(Array.from({ length: past }, (_, i) => [`past ${i}`, { turns: 2, days: 48 + i }])),
  });
  await database.execute('editSession', { session_id: session('starred'), edits: { starred: true } });
  for (const [name, project] of [
    ['forever', 'ever'],
    ['old', 'brief'],
  ] as const)
    await database.sql(`update svc.session_rollups set project = $1 where session_id = $2::uuid`, [
      project,
      session(name),
    ]);
  await between();
  await storeAged(database, { long: { turns: 3, days: 3 }, fresh: { turns: 2, days: 2 }, old2: { turns: 1, days: 1 } });
}

const rules = {
  days: 30,
  projects: new Map([
    ['ever', null],
    ['brief', 20],
  ]),
};

/** All that a client, a verifier and an operator see of the record. */
async function record(database: TestDatabase) {
  return {
    stats: await stats(database),
    listed: await listed(database),
    verified: await assertVerified(database),
    whole: await assertWhole(database),
    projection: await dump(database),
    days: await database.sql('select to_jsonb(d) as row from svc.stat_days d order by d.day, d.attributes'),
    cells: await database.sql(
      'select to_jsonb(c) as row from svc.stat_cells c order by c.session_id, c.day, c.attributes',
    ),
    totals: await database.sql('select to_jsonb(t) as row from svc.session_totals t order by t.session_id'),
    stones: await database.sql(
      `select session_id, session_seq, reason from svc.tombstones order by session_id, session_seq`,
    ),
    sessions: await database.sql(
      `select session_id, turn_count, purged_turns, is_empty from svc.sessions order by session_id`,
    ),
  };
}

const withoutPartitions = (text: unknown) => JSON.parse(JSON.stringify(text).replaceAll(/"partition_no":-?\d+,?/g, ''));

test('what is left is what deleting the rows leaves, and the tables are gone', async () => {
  const plain = await opened(serverDatabase(dsn));
  await storeMonths(plain, async () => {});
  const partitioned = await opened(partitionedDatabase(dsn));
  await storeMonths(partitioned, () => changePartition(partitioned, daysAgo(44)));
  assert.equal(
    await tablesOf(partitioned, 'raw_turns'),
    ['p0', 'p1', 'p2', 'kept'].map((n) => `raw_turns_${n}`).sort(),
  );

  const [byRow, dropped] = [await sweep(plain, rules), await sweep(partitioned, rules)];

  assert.is(dropped?.sessions, byRow?.sessions);
  assert.is(dropped?.raw_turns, byRow?.raw_turns);
  const [actual, expected] = [withoutPartitions(await record(partitioned)), withoutPartitions(await record(plain))];
  for (const name of Object.keys(expected)) assert.equal(actual[name], expected[name], name);
  for (const table of ['raw_turns', 'nodes', 'spans', 'slices'])
    assert.equal(await tablesOf(partitioned, table), [`${table}_kept`, `${table}_p2`]);
  assert.is(await sweep(partitioned, rules), null, 'nothing is left to be removed');
});

test('a sweep that is interrupted anywhere is completed by later ones, and nothing is unexplained in between', async () => {
  const plain = await opened(serverDatabase(dsn));
  await storeMonths(plain, async () => {});
  await sweep(plain, rules);
  const database = await opened(partitionedDatabase(dsn));
  await storeMonths(database, () => changePartition(database, daysAgo(44)));
  let interruptions = 0;
  for (let calls = 3; ; calls += 1) {
    let left = calls;
    const execute = ((name: never, args: never) => {
      if (name !== 'releaseWork' && name !== 'closeCollection' && left-- === 0) throw new Error('interrupted');
      return database.execute(name, args);
    }) as typeof database.execute;
    const swept = await sweep({ ...database, execute }, rules).catch((error: Error) => error);
    if (!(swept instanceof Error)) break;
    assert.is(swept.message, 'interrupted');
    interruptions += 1;
    await assertVerified(database);
  }
  assert.ok(interruptions > 10, `${interruptions} interruptions`);
  const [actual, expected] = [withoutPartitions(await record(database)), withoutPartitions(await record(plain))];
  for (const name of Object.keys(expected)) assert.equal(actual[name], expected[name], name);
  assert.equal(await tablesOf(database, 'raw_turns'), ['raw_turns_kept', 'raw_turns_p2']);
});

test('every turn that is stored meanwhile is whole, and its session goes on', async () => {
  const database = await opened(partitionedDatabase(dsn));
  await storeMonths(database, () => changePartition(database, daysAgo(44)), 40);
  let removed = 0;
  const { written } = await storingMeanwhile(database, ['past 0', 'past 1', 'past 2'], async () => {
    for (let i = 0; i < 3; i++) removed += (await sweep(database, rules))?.raw_turns ?? 0;
  });
  assert.equal(await tablesOf(database, 'raw_turns'), ['raw_turns_kept', 'raw_turns_p2']);
  await deriveAll(database);
  const stored = 3 + 2 + 2 + 2 + 1 + 1 + 80 + 3 + 2 + 1;
  assert.is(await assertWhole(database), stored + written - removed);
  assert.equal(await assertVerified(database), { turns: stored + written - removed, purged: removed });
  assert.ok(removed >= 79, `${removed} were removed`);
  await assertCounted(database);
});

test('a partition that cannot be dropped yet is not emptied row by row, and its sessions stay hidden', async () => {
  const database = await opened(partitionedDatabase(dsn));
  await storeMonths(database, () => changePartition(database, daysAgo(44)));
  const collection = { work: 'gc' as const, token: crypto.randomUUID() };
  await database.execute('leaseWork', { ...collection, ms: 60_000 });
  await sweep(database, rules);
  const [left] = await database.sql('select count(*)::integer as turns from svc.raw_turns where partition_no = 1');
  assert.is(left?.turns, 3 + 2 + 24 + 1);
  assert.equal(await listed(database), ['starred', 'long', 'forever', 'fresh', 'old2'].map(session).sort());
  await assertVerified(database);
  await database.execute('releaseWork', collection);
  await sweep(database, rules);
  assert.equal(await tablesOf(database, 'raw_turns'), ['raw_turns_kept', 'raw_turns_p2']);
  await assertVerified(database);
});

test('the oldest partition goes for the size, never the one that is stored in', async () => {
  const database = await opened(partitionedDatabase(dsn));
  await storeMonths(database, () => changePartition(database, daysAgo(44)));
  const sweepToLess = async () => {
    const { bytes } = await database.execute('measureStored', {});
    return sweep(database, { maxBytes: bytes - 1, projects: new Map([['ever', null]]) });
  };
  await sweepToLess(); // the first partition, which is empty
  assert.equal(await tablesOf(database, 'raw_turns'), ['raw_turns_kept', 'raw_turns_p1', 'raw_turns_p2']);
  const swept = await sweepToLess();
  assert.ok((swept?.raw_turns ?? 0) >= 5, JSON.stringify(swept));
  assert.ok(!(await tablesOf(database, 'raw_turns')).includes('raw_turns_p1'));
  assert.ok((await tablesOf(database, 'raw_turns')).includes('raw_turns_p2'));
  const left = await listed(database);
  for (const name of ['starred', 'forever', 'long', 'fresh']) assert.ok(left.includes(session(name)), name);
  const reasons = await database.sql('select distinct reason from svc.tombstones');
  assert.equal(reasons, [{ reason: 'retention.max_bytes' }]);
  await assertVerified(database);
});

test('a partition of which most stays is not dropped: the rows of the others are deleted', async () => {
  const database = await opened(partitionedDatabase(dsn));
  await storeAged(database, { a: { turns: 1, days: 50 }, b: { turns: 3, days: 50 }, c: { turns: 3, days: 50 } });
  for (const name of ['b', 'c'])
    await database.execute('editSession', { session_id: session(name), edits: { starred: true } });
  await changePartition(database, daysAgo(44));
  const swept = await sweep(database, { days: 30 });
  assert.is(swept?.sessions, 1);
  assert.ok((await tablesOf(database, 'raw_turns')).includes('raw_turns_p1'));
  assert.equal(await listed(database), [session('b'), session('c')].sort());
  await assertVerified(database);
});

test('for the size the sessions of an older partition go by rows before a younger partition is dropped', async () => {
  const database = await opened(partitionedDatabase(dsn));
  const numbered = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name} ${i}`);
  const [old, young] = [numbered('old', 9), numbered('young', 4)];
  const age = (names: string[], days: number) =>
    Object.fromEntries(names.map((name, i) => [name, { turns: 1, days: days - i / 10 }]));
  await storeAged(database, { ...age(old, 60), starred: { turns: 6, days: 50 } });
  await database.execute('editSession', { session_id: session('starred'), edits: { starred: true } });
  await changePartition(database);
  await storeAged(database, age(young, 40));
  await changePartition(database, daysAgo(20));
  await database.sql(`update svc.partitions set ended_at = $1 where partition_no = 1`, [daysAgo(44)]);
  await storeAged(database, { fresh: { turns: 1, days: 1 } });
  const sweepToLess = async () => {
    const { bytes, free_bytes } = await database.execute('measureStored', {});
    return sweep(database, { maxBytes: bytes - free_bytes - 1 });
  };
  await sweepToLess(); // the first partition, which is empty
  const tables = ['raw_turns_kept', 'raw_turns_p1', 'raw_turns_p2', 'raw_turns_p3'];
  assert.equal(await tablesOf(database, 'raw_turns'), tables);

  const removed = (await sweepToLess())?.sessions ?? 0;
  assert.ok(removed > 0 && removed < old.length, `${removed} sessions`);
  assert.equal(await tablesOf(database, 'raw_turns'), tables);
  const left = [...old.slice(removed), 'starred', ...young, 'fresh'];
  assert.equal(await listed(database), left.map(session).sort());
  await assertVerified(database);

  await sweep(database, { maxBytes: 1 });
  assert.equal(await listed(database), [session('starred')]);
  assert.equal(await tablesOf(database, 'raw_turns'), ['raw_turns_kept', 'raw_turns_p1', 'raw_turns_p3']);
  await assertVerified(database);
});

test('sessions of a partition that is not old enough wait for the rest of it, but for a project with days of its own', async () => {
  const database = await opened(partitionedDatabase(dsn));
  await storeAged(database, { old: { turns: 1, days: 50 }, brief: { turns: 1, days: 50 } });
  await database.sql(`update svc.session_rollups set project = 'brief' where session_id = $1::uuid`, [
    session('brief'),
  ]);
  assert.is(await sweep(database, { days: 30 }), null);
  await changePartition(database, daysAgo(20));
  assert.is((await sweep(database, { days: 30, projects: new Map([['brief', 7]]) }))?.sessions, 1);
  assert.equal(await listed(database), [session('old')]);
  await changePartition(database, daysAgo(31));
  assert.is((await sweep(database, { days: 30 }))?.sessions, 1);
  assert.equal(await listed(database), []);
});

test('a filled database is partitioned without a difference to be seen, and goes on in a new partition', async () => {
  const database = await opened(serverDatabase(dsn));
  await storeMonths(database, async () => {});
  const before = withoutPartitions(await record(database));
  const view = () => database.sql('select to_jsonb(s) as row from svc_v1.spans s order by trace_id, span_id');
  const spans = await view();
  if (process.env.SVC_TEST_PARTITIONED !== 'true') assert.is(await partitionNow(database), true);
  assert.is(await partitionNow(database), false, 'once');
  assert.equal(withoutPartitions(await record(database)), before);
  assert.equal(await view(), spans);
  await storeAged(database, { long: { turns: 1, days: 0 }, next: { turns: 1, days: 0 } });
  const stored = await database.sql(`select distinct partition_no from svc.raw_turns order by 1`);
  assert.equal(
    stored.map(({ partition_no }) => partition_no),
    process.env.SVC_TEST_PARTITIONED === 'true' ? [1] : [0, 1],
  );
  const ids = await database.sql('select count(*) = count(distinct raw_turn_id) as once from svc.raw_turns');
  assert.equal(ids, [{ once: true }]);
  await assertWhole(database);
  await assertVerified(database);
});

if (dsn === '' || isCitus(dsn)) console.log('skip: retention by partition: SVC_TEST_DSN names no server of its own');
else test.run();
