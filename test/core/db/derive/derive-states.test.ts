/** States as they are stored: compressed, and as builds before that stored them. */
import * as assert from 'uvu/assert';
import { type StateColumns, stateOf } from '../../../../core/db/derive/derive-states.ts';
import { storedState } from '../../../../core/derive/stored-state.ts';
import { DERIVE_VERSION } from '../../../../core/derive/version.ts';
import { answer, type Call, toolUse, user } from '../../../support/call-turn.ts';
import { databaseSuite, type TestDatabase } from '../../../support/databases.ts';
import { deriveAll } from '../../../support/derive-all.ts';
import { dump } from '../../../support/dump-projection.ts';
import { journalCall, storeCalls } from '../../../support/stored-calls.ts';

const call = (at: number): Call => ({
  at,
  says: [user(`Look at ${at}`)],
  answers: answer(`I look at ${at}.`, toolUse(`t${at}`, 'Read', { file_path: `src/${at}.ts` })),
});
const calls = (...at: number[]) => at.map((n) => journalCall('s', call(n)));

type StateRow = StateColumns & { opened_at: string };

const rowsOf = (database: TestDatabase): Promise<StateRow[]> =>
  database.sql(
    'select opened_at::text, state, compressed from svc.derive_states order by opened_at',
  ) as unknown as Promise<StateRow[]>;

/** Stores all states as builds did that did not compress them. */
async function decompress(database: TestDatabase): Promise<void> {
  for (const { opened_at, ...columns } of await rowsOf(database))
    await database.sql(
      'update svc.derive_states set state = $1::jsonb, compressed = null where opened_at = $2::timestamptz',
      [JSON.stringify(storedState(stateOf(columns))), opened_at],
    );
}

databaseSuite('states of sessions', (test, database) => {
  test.before.each(() => database().reset());

  test('a long state is compressed, but for what statements read of it; a short one is not', async () => {
    const [session_id = ''] = await storeCalls(database(), calls(...Array(48).keys()));
    await storeCalls(database(), [journalCall('short', call(100))]);
    await deriveAll(database());
    const isCompressed: boolean[] = [];
    for (const row of await rowsOf(database())) {
      const { version, last } = stateOf(row);
      const whole = storedState(stateOf(row));
      const { length } = JSON.stringify(whole);
      isCompressed.push(row.compressed !== null);
      assert.is(isCompressed.at(-1), length > 8_000);
      assert.equal(row.state, row.compressed ? { version, last } : whole);
      assert.ok((row.compressed?.byteLength ?? 0) < length / 2);
    }
    assert.equal(new Set(isCompressed), new Set([true, false]));
    const { state } = await database().execute('deriveState', { session_id, version: DERIVE_VERSION, differs: null });
    assert.is(state && stateOf(state).turns, 48);
  });

  test('what an earlier build stored is read and gone on from, also where a call comes late', async () => {
    await storeCalls(database(), calls(...Array(46).keys(), 47));
    await deriveAll(database());
    const before = (await rowsOf(database())).map((row) => stateOf(row));
    await decompress(database());
    assert.equal(
      (await rowsOf(database())).map((row) => [row.compressed, stateOf(row)]),
      before.map((state) => [null, state]),
    );
    await storeCalls(database(), calls(48));
    await deriveAll(database());
    const compressed = (await rowsOf(database())).map((row) => row.compressed !== null);
    assert.equal([compressed.at(-1), compressed.slice(0, -2).includes(true)], [true, false], 'only what is new');
    await storeCalls(database(), calls(46));
    await deriveAll(database());
    const goneOn = await dump(database());
    await database().execute('markFromScratch', { session_id: null });
    await deriveAll(database());
    assert.equal(await dump(database()), goneOn);
  });

  test('a pass that was broken off is seen as one', async () => {
    const [session_id = ''] = await storeCalls(database(), calls(0, 1));
    await deriveAll(database());
    await database().sql(`update svc.derive_states set state = state || '{"replacing": true}'`);
    const found = await database().execute('deriveState', { session_id, version: DERIVE_VERSION, differs: null });
    assert.is(found.state, null);
    const simple = { session_ids: [session_id], version: DERIVE_VERSION, max_turns: 16 };
    assert.equal(await database().execute('simpleSessions', simple), []);
  });
});
