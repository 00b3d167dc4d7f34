/** What was spent stays spent: budgets count what removed sessions cost, while stats are those of what is stored. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { purgeSession } from '../../../../core/engine/purge-session.ts';
import { removeBatch } from '../../../../core/engine/retention/remove-batch.ts';
import type { PeriodBudget } from '../../../../core/model/budget-settings.ts';
import { agedTurn, daysAgo, session, stats, storeAged, sweep } from '../../../support/aged-sessions.ts';
import { isCitus } from '../../../support/citus-cluster.ts';
import { databaseSuite, type TestDatabase } from '../../../support/databases.ts';
import { deriveAll } from '../../../support/derive-all.ts';
import { testIngest } from '../../../support/ingested-turns.ts';
import { changePartition, partitionedDatabase } from '../../../support/partitioned-database.ts';
import { claudeChat } from '../../../support/transcript-records.ts';
import { testTranscripts, upload } from '../../../support/transcript-uploads.ts';

const BUDGETS: PeriodBudget[] = [
  { budget: 'daily_usd', project: null, period: 'day', limit_usd: 13 },
  { budget: 'projects.atlas.monthly_usd', project: 'atlas', period: 'month', limit_usd: 1_000 },
];

/** Each answer costs three dollars, and was given a moment ago, though its session is old. */
const costing = (database: TestDatabase) =>
  database.sql(
    `update svc.nodes set cost_usd = 3, created_at = now(), project = 'atlas'
      where role = 'assistant' and slice_id is null and cost_usd is distinct from 3`,
  );

const spent = async (database: TestDatabase) =>
  (await database.execute('budgetStates', { budgets: BUDGETS })).map(({ spent_usd }) => spent_usd);

/** A transcript of so many calls is sent under this name, and derived. */
const send = async (database: TestDatabase, name: string, calls: number, made = name) => {
  const records = claudeChat(calls).map((record) => ({ ...record, sessionId: made }));
  await upload(testTranscripts(database), { session: { harness_id: 'test', harness_session_id: name }, records });
  await deriveAll(database);
  await costing(database);
};

/** As a sweep of retention removes them, one after the other. */
const remove = async (database: TestDatabase, ...names: string[]) => {
  const due = { before: new Date().toISOString(), projects: [], never: [], limit: 9 };
  const removing = {
    ...{ database, signal: new AbortController().signal },
    ...{ committing: <T>(work: () => Promise<T>) => work(), pause: async () => {} },
  };
  for (const name of names) {
    const one = (await database.execute('dueSessions', due)).filter(({ session_id }) => session_id === session(name));
    assert.equal((await removeBatch(removing, one, { reason: 'test', add: () => {} })).sessions, 1, name);
  }
};

const store = async (database: TestDatabase) => {
  await storeAged(database, { old: { turns: 3, days: 50 }, kept: { turns: 1, days: 2 } });
  await costing(database);
};

databaseSuite('spend of removed sessions', (test, database) => {
  test.before.each(() => database().reset());

  test('a budget sees what retention removed, and its crossing with what comes after', async () => {
    await store(database());
    const cross = () => database().execute('crossBudgets', { budgets: BUDGETS, webhook: false });
    assert.equal([await spent(database()), await cross()], [[12, 12], []]);
    await sweep(database(), { days: 30 });
    assert.is((await stats(database())).total_cost, 3, 'of what is stored');
    assert.equal(await spent(database()), [12, 12]);
    await storeAged(database(), { next: { turns: 1, days: 1 } });
    await costing(database());
    assert.equal(
      (await cross()).map(({ budget, spent_usd }) => [budget, spent_usd]),
      [['daily_usd', 15]],
    );
  });

  test('it is the same at every step of a removal, also where a turn comes in and is derived in between', async () => {
    await store(database());
    const session_ids = [session('old')];
    const due = await database().execute('dueSessions', { before: daysAgo(30), projects: [], never: [], limit: 5 });
    const sessions = due.map((one) => ({ ...one, reason: 'test' }));
    await database().execute('beginRemovals', { sessions });
    await database().execute('beginRemovals', { sessions }); // of which nothing is new
    assert.equal(await spent(database()), [12, 12]);
    for (let rows = 5; rows === 5; ) {
      rows = await database().execute('removeDerived', { session_ids, limit: 5 });
      assert.equal(await spent(database()), [12, 12]);
    }
    const writer = await testIngest(database());
    await writer.append(agedTurn('old', 3, 0), null);
    await deriveAll(database());
    await costing(database());
    assert.equal(await spent(database()), [12, 12]);
    await database().execute('removeCells', { session_ids });
    await database().execute('removeTurns', { session_ids, limit: 10 });
    await database().execute('endRemovals', { session_ids });
    assert.equal(await spent(database()), [12, 12]);
    await deriveAll(database());
    await costing(database());
    assert.equal(await spent(database()), [15, 15], 'with the new turn');
  });

  test('a purged session stays spent, and one that is derived again counts once', async () => {
    await store(database());
    await purgeSession(database().execute, { session_id: session('old'), reason: 'test' });
    await purgeSession(database().execute, { session_id: session('old'), reason: 'test' });
    assert.equal(await spent(database()), [12, 12]);
    const [rows] = await database().sql(
      'select count(*)::integer as n, max(octet_length(project_digest)) as bytes from svc.removed_spend',
    );
    assert.equal(rows, { n: 1, bytes: 32 }, 'without the name of its project');
    await database().sql(
      'insert into svc.derive_queue (session_id, from_scratch) select session_id, true from svc.sessions',
    );
    await deriveAll(database());
    await costing(database());
    assert.equal(await spent(database()), [12, 12]);
  });

  /** Of five calls of a copy three are of its origin, where they count. */
  const sendCopied = async () => {
    await send(database(), 'origin', 3);
    await send(database(), 'copy', 5, 'origin');
    const rows = await database().sql(
      `select session_id, sum(cost_usd)::float8 as usd from svc.nodes where cost_usd > 0 group by 1 order by 2 desc`,
    );
    assert.equal(rows, [
      { session_id: session('origin'), usd: 9 },
      { session_id: session('copy'), usd: 6 },
    ]);
  };

  test('a call that the transcripts of another session hold counts there when that is derived, and as removed until then', async () => {
    for (const removal of ['retention', 'purge']) {
      await database().reset();
      await sendCopied();
      if (removal === 'retention') await remove(database(), 'origin');
      else await purgeSession(database().execute, { session_id: session('origin'), reason: 'test' });
      assert.equal(await spent(database()), [15, 15], removal);
      await deriveAll(database());
      await costing(database());
      assert.equal([(await stats(database())).total_cost, await spent(database())], [15, [15, 15]], removal);
      await remove(database(), 'copy');
      assert.equal(await spent(database()), [15, 15], removal);
    }
  });

  test('an origin and its copy that go one after the other stay spent, whichever goes first', async () => {
    for (const names of [
      ['origin', 'copy'],
      ['copy', 'origin'],
    ]) {
      await database().reset();
      await sendCopied();
      await remove(database(), ...names); // the other is not derived again in between
      assert.equal(await spent(database()), [15, 15], names.join());
    }
  });

  test('what a copy still has of calls that count in its origin by now goes with it', async () => {
    await sendCopied();
    await database().sql(
      `insert into svc.nodes
       select (jsonb_populate_record(n, jsonb_build_object('session_id', c.session_id, 'call_id', c.call_id))).*
         from svc.transcript_claims c
         join svc.transcript_claims o on o.call_key = c.call_key and o.session_id = c.owner_session_id
         join svc.nodes n on n.session_id = o.session_id and n.call_id = o.call_id and n.cost_usd > 0
        where c.session_id <> c.owner_session_id`,
    );
    assert.equal(await spent(database()), [24, 24], 'until it is derived again');
    await remove(database(), 'copy');
    assert.equal(await spent(database()), [15, 15]);
  });

  test('a session that comes back from its transcript counts once, as far as it comes back, however often it is removed', async () => {
    await send(database(), 'lost', 3);
    for (const calls of [3, 2, 1]) {
      await remove(database(), 'lost');
      assert.equal([(await stats(database())).total_cost, await spent(database())], [0, [9, 9]]);
      await send(database(), 'lost', calls);
      assert.equal([(await stats(database())).total_cost, await spent(database())], [3 * calls, [9, 9]]);
      await database().execute('markFromScratch', { session_id: session('lost') });
      await deriveAll(database());
      await costing(database());
      assert.equal(await spent(database()), [9, 9], 'derived again it counts no less');
    }
  });

  test('a call over the wire that comes back by a transcript counts once', async () => {
    await send(database(), 'lost', 1);
    const [key] = await database().sql(`select encode(call_key, 'hex') as hex from svc.transcript_claims`);
    await database().reset();
    await store(database());
    await database().sql(
      `update svc.calls set call_key = decode($1, 'hex')
        where raw_turn_id = (select min(raw_turn_id) from svc.calls where session_id = $2::uuid)`,
      [key?.hex, session('old')],
    );
    await remove(database(), 'old');
    assert.equal(await spent(database()), [12, 12]);
    await send(database(), 'lost', 1);
    assert.equal([(await stats(database())).total_cost, await spent(database())], [6, [12, 12]]);
  });

  test('what is older than the month before is not kept', async () => {
    await store(database());
    const lastMonth = `(date_trunc('month', now() at time zone 'UTC') - interval '1 month')::date`;
    await database().sql(
      `insert into svc.removed_spend select ${lastMonth} - n, sha256('x'), 1 from generate_series(0, 1) n`,
    );
    await database().sql(`insert into svc.removed_calls select sha256('a call'), * from svc.removed_spend`);
    await sweep(database(), { days: 30 });
    for (const table of ['removed_spend', 'removed_calls']) {
      const left = await database().sql(
        `select day = ${lastMonth} as is_first from svc.${table} where project_digest = sha256('x')`,
      );
      assert.equal(left, [{ is_first: true }], table);
    }
  });
});

const dsn = process.env.SVC_TEST_DSN ?? '';
const test = suite('spend of dropped partitions');

test('a partition that is dropped stays spent, also while its removals are not complete', async () => {
  const database = await partitionedDatabase(dsn);
  try {
    await store(database);
    await changePartition(database, daysAgo(44));
    const until = async (calls: number) => {
      let left = calls;
      const execute = ((name: never, args: never) => {
        if (name !== 'releaseWork' && name !== 'closeCollection' && left-- === 0) throw new Error('interrupted');
        return database.execute(name, args);
      }) as typeof database.execute;
      return sweep({ ...database, execute }, { days: 30 });
    };
    for (let calls = 3; ; calls++) {
      const swept = await until(calls).catch((error: Error) => error);
      assert.equal(await spent(database), [12, 12], `after ${calls} operations`);
      if (!(swept instanceof Error)) break;
    }
    assert.is((await stats(database)).total_cost, 3);
  } finally {
    await database.close();
  }
});

if (dsn === '' || isCitus(dsn))
  console.log('skip: spend of dropped partitions: SVC_TEST_DSN names no server of its own');
else test.run();
