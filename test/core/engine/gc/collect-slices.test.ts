/** Slices that nothing refers to go, and no turn that is stored meanwhile loses one that it refers to, whatever its writer knew as stored. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import { sessionId } from '../../../../core/call/identity.ts';
import { builtIn } from '../../../../core/call/reader.ts';
import type { Database, OperationName } from '../../../../core/db/database.ts';
import { rereadSession } from '../../../../core/engine/derive/reread-session.ts';
import { exclusively } from '../../../../core/engine/exclusively.ts';
import { collectSlices } from '../../../../core/engine/gc/collect-slices.ts';
import { runGc } from '../../../../core/engine/gc/run-gc.ts';
import { capturedCall, chat, chatAnswer } from '../../../support/captured-calls.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { deriveAll } from '../../../support/derive-all.ts';
import { ingestBody, testIngest } from '../../../support/ingested-turns.ts';
import { assertWhole } from '../../../support/stored-bytes.ts';

const SESSION = sessionId('test', 'one');
const never = new AbortController().signal;
const pause = () => Promise.resolve();

let calls = 0;
const body = (words: string, session = 'one') =>
  ingestBody(
    capturedCall({
      n: ++calls,
      request: chat(...Array.from({ length: 12 }, (_, i) => `${words} ${i}`)),
      response: chatAnswer(`answer to ${words}`),
      headers: [
        ['x-svc-harness-id', 'test'],
        ['x-svc-harness-session-id', session],
      ],
    }),
  );

/** The message of a plain input is no piece of its request: its slice is named by a node alone. */
const plain = (input: string) =>
  ingestBody(
    capturedCall({
      n: ++calls,
      format: 'openai.responses',
      request: { model: 'gpt-4o-mini', input },
      response: null,
      headers: [
        ['x-svc-harness-id', 'test'],
        ['x-svc-harness-session-id', 'one'],
      ],
    }),
  );

/** The steps at which something is stored in between. */
const STEPS: OperationName[] = [
  ...(['openCollection', 'slicesOfTurns', 'slicesOfNodesBySession', 'slicePage', 'slicesOfNodesByTurn'] as const),
  ...(['slicesOfRewritten', 'deleteSlices', 'closeCollection'] as const),
];

databaseSuite('collectSlices', (test, database) => {
  const slices = async () => Number((await database().sql('select count(*) as n from svc.slices'))[0]?.n);
  const collect = (execute: Database['execute'] = database().execute) =>
    exclusively(database().execute, 'gc', never, (signal, token) => collectSlices(execute, { token, pause, signal }));

  /** Calls `work` once, before the operation is executed for the first time. */
  const before = (step: OperationName, work: () => Promise<unknown>): Database['execute'] => {
    let done = false;
    return (async (name, args) => {
      if (name === step && !done) {
        done = true;
        await work();
      }
      return database().execute(name, args);
    }) as Database['execute'];
  };

  /** The session's rows go as retention deletes them; its slices stay. */
  const removeSession = async () => {
    const [row] = await database().sql(`
      select to_char(last_seen_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at from svc.sessions where session_id = '${SESSION}'`);
    const session_ids = await database().execute('beginRemovals', {
      sessions: [{ session_id: SESSION, last_seen_at: String(row?.at), reason: 'test' }],
    });
    assert.equal(session_ids, [SESSION]);
    await database().execute('removeDerived', { session_ids, limit: 10_000 });
    await database().execute('removeTurns', { session_ids, limit: 10_000 });
    await database().execute('endRemovals', { session_ids });
  };

  test.before.each(() => database().reset());

  test('what nothing refers to goes, and all else stays', async () => {
    const writer = await testIngest(database());
    await writer.append(body('kept', 'two'), null);
    const kept = await slices();
    await writer.append(body('gone'), null);
    await deriveAll(database());
    assert.equal(await collect(), { slices: 0, bytes: 0, complete: true });
    const all = await slices();
    await removeSession();
    const collected = await collect();
    assert.is(collected?.slices, all - kept);
    assert.ok(Number(collected?.bytes) > 0);
    assert.is(await slices(), kept);
    assert.is(await assertWhole(database()), 1);
  });

  for (const step of STEPS)
    test(`a turn that is stored again before '${step}' is whole`, async () => {
      const writer = await testIngest(database()); // it knows the slices as stored
      await writer.append(body('other', 'two'), null);
      await writer.append(body('again'), null);
      await removeSession();
      const storing = async () => assert.is((await writer.append(body('again'), null)).kind, 'accepted');
      await collect(before(step, storing));
      await deriveAll(database());
      assert.is(await assertWhole(database()), 2);
      await storing();
      assert.is(await assertWhole(database()), 3);
    });

  for (const step of STEPS)
    test(`messages that are read again before '${step}' stay`, async () => {
      const writer = await testIngest(database());
      await writer.append(plain('read'), null);
      await writer.append(body('read on'), null);
      const [named] = await database().sql('delete from svc.nodes where position = 0 returning slice_id');
      assert.ok(named?.slice_id, 'of a slice of its own');
      await collect(before(step, () => rereadSession(database(), builtIn, SESSION)));
      assert.is(await assertWhole(database()), 2);
      const nodes = await database().sql('select 1 from svc.nodes where position = 0');
      assert.is(nodes.length, 2);
    });

  /** As seen by others while a process stands still. */
  const leaseEnds = () => database().sql(`update svc.work_leases set leased_until = now() - interval '1 s'`);

  for (const step of STEPS)
    test(`a process that stood still beyond its lease before '${step}' deletes nothing that is read again since`, async () => {
      const writer = await testIngest(database());
      await writer.append(plain('read'), null);
      await writer.append(body('read on'), null);
      await database().sql('delete from svc.nodes where position = 0');
      const stillness = before(step, async () => {
        await leaseEnds();
        assert.is((await collect())?.complete, true);
        await rereadSession(database(), builtIn, SESSION);
      });
      assert.is((await collect(stillness))?.slices, step === 'closeCollection' ? 1 : 0);
      assert.is(await assertWhole(database()), 2);
      const named = await database().sql('select 1 from svc.nodes where position = 0');
      assert.is(named.length, 2);
    });

  for (const step of STEPS)
    test(`a process that stood still beyond its lease before '${step}' does not end the collection of another`, async () => {
      const writer = await testIngest(database());
      await writer.append(body('stays', 'two'), null);
      await writer.append(body('gone'), null);
      await removeSession();
      const token = randomUUID();
      const rewritten = () => database().sql('select 1 from svc.rewritten_sessions');
      const stillness = before(step, async () => {
        await leaseEnds();
        await database().execute('leaseWork', { work: 'gc', token, ms: 60_000 });
        await database().execute('openCollection', { token });
        await database().sql(`insert into svc.rewritten_sessions (session_id) values ('${SESSION}')`);
      });
      await collect(stillness);
      const [{ collecting } = {}] = await database().sql('select collecting from svc.installation');
      assert.is(collecting, true);
      assert.is((await rewritten()).length, 1);
      await database().execute('closeCollection', { token, complete: true });
      await database().execute('releaseWork', { work: 'gc', token });
      assert.is((await rewritten()).length, 0);
    });

  test('it is stopped without harm, and is then due', async () => {
    const writer = await testIngest(database());
    await writer.append(body('one'), null);
    await removeSession();
    const stopping = new AbortController();
    const execute = before('slicePage', async () => stopping.abort());
    const stopped = await exclusively(database().execute, 'gc', never, (_, token) =>
      collectSlices(execute, { token, pause, signal: stopping.signal }),
    );
    assert.is(stopped?.complete, false);
    assert.is(await database().execute('collectionDue', {}), true);
    assert.ok(Number((await collect())?.slices) > 0);
    assert.is(await database().execute('collectionDue', {}), false);
    assert.is(await slices(), 0);
  });

  test('garbage collection reports what went and is recorded, one at a time', async () => {
    const writer = await testIngest(database());
    for (let i = 0; i < 20; i++) await writer.append(body(`${i} ${'long '.repeat(2_000)}`), null);
    await removeSession();
    const report = await runGc({ execute: database().execute, signal: never, inUse: false });
    assert.ok(report?.complete);
    assert.ok(report.slices > 100);
    assert.equal(report.left, []);
    // Of the whole that holds only beside more rows: a server's vacuum gives each table some pages about its free space.
    const slices = report.tables.find(({ name }) => name === 'svc.slices');
    assert.ok(slices && slices.bytes_after < slices.bytes_before, JSON.stringify(report));
    const [recorded] = await database().execute('lastRemovals', {});
    assert.is(recorded?.kind, 'gc');
    assert.is(recorded?.slices, report.slices);
    const other = await exclusively(database().execute, 'gc', never, () =>
      runGc({ execute: database().execute, signal: never, inUse: false }),
    );
    assert.is(other, null);
  });
});
