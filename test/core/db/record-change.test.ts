/** Which changes of a session are noted? Those that can be read, and no other. */
import * as assert from 'uvu/assert';
import { builtIn } from '../../../core/call/reader.ts';
import type { Database } from '../../../core/db/database.ts';
import { EVERYTHING } from '../../../core/db/read/session-changes.ts';
import { deriveSession } from '../../../core/engine/derive/derive-session.ts';
import { answer, assistant, type Call, toolResult, toolUse, user } from '../../support/call-turn.ts';
import { databaseSuite, type TestDatabase } from '../../support/databases.ts';
import { journalCall, storeCalls } from '../../support/stored-calls.ts';

const says = [user('List the files')];
const used = answer('I look.', toolUse('t1', 'Bash', { command: 'ls' }));
const asks: Call = { at: 0, call_id: 'c1', says, answers: used };
const brings: Call = {
  at: 2,
  call_id: 'c2',
  says: [...says, assistant(...used.content), user(toolResult('t1', 'a b'))],
  answers: answer('Two files'),
};

async function derive(database: Database): Promise<void> {
  const signal = new AbortController().signal;
  for (;;) {
    const [lease] = await database.execute('leaseDirty', { limit: 1, background: true, lease_ms: 60_000 });
    if (!lease) return;
    await deriveSession({ database, reader: builtIn, signal }, lease);
  }
}

const notes = async (database: TestDatabase) =>
  (await database.sql('select changed_by::text, changed_at from svc.session_changes order by session_id')).map((row) =>
    JSON.stringify(row),
  );

databaseSuite('noteDerived', (test, database) => {
  test.before.each(() => database().reset());

  test('a turn is noted when it has been derived', async () => {
    await storeCalls(database(), [journalCall('s', asks)]);
    assert.equal(await notes(database()), []);
    await derive(database());
    const { changes } = await database().execute('sessionChanges', { place: EVERYTHING, limit: 10 });
    assert.equal(
      changes.map(({ session }) => [session?.raw_turn_count, session?.rollup.turn_count]),
      [[1, 1]],
    );
    const [first] = await notes(database());
    await storeCalls(database(), [journalCall('s', brings)]);
    await derive(database());
    assert.is((await notes(database())).length, 1);
    assert.is.not((await notes(database()))[0], first);
  });

  test('an unchanged session that is derived again is not noted', async () => {
    await storeCalls(database(), [journalCall('s', asks), journalCall('s', brings)]);
    await storeCalls(database(), [journalCall('other', { ...asks, call_id: 'o1' })]);
    await derive(database());
    const before = await notes(database());
    assert.is(before.length, 2);
    await database().execute('markFromScratch', { session_id: null });
    await derive(database());
    assert.equal(await notes(database()), before);
  });

  test('what derivation mends is noted: a row that is not as it should be, or one too many', async () => {
    const [session_id = ''] = await storeCalls(database(), [journalCall('s', asks), journalCall('s', brings)]);
    await derive(database());
    const wrongs = [
      `update svc.traces set user_prompt = 'Something else'`,
      `update svc.session_rollups set title = 'Something else'`,
      `delete from svc.span_links`,
      `insert into svc.traces (trace_id, session_id, started_at) values (gen_random_uuid(), '${session_id}', now())`,
    ];
    for (const wrong of wrongs) {
      const before = await notes(database());
      await database().sql(wrong);
      await database().execute('markFromScratch', { session_id });
      await derive(database());
      assert.is.not((await notes(database()))[0], before[0], wrong);
    }
  });

  test('a turn that changes no row but the count of turns is noted', async () => {
    await storeCalls(database(), [journalCall('s', asks)]);
    await derive(database());
    const before = await notes(database());
    await database().sql('update svc.sessions set turn_count = turn_count + 1');
    await database().execute('markFromScratch', { session_id: null });
    await derive(database());
    assert.is.not((await notes(database()))[0], before[0]);
  });
});
