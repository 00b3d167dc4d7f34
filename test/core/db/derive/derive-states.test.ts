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

  test('a state is compressed, but for what statements read of it', async () => {
    const [session_id = ''] = await storeCalls(database(), calls(...Array(12).keys()));
    await deriveAll(database());
    const rows = await rowsOf(database());
    assert.is(rows.length, 2, 'the newest and a checkpoint');
    for (const row of rows) {
      const { version, last, turns } = stateOf(row);
      assert.equal(row.state, { version, last });
      assert.is(turns, row.opened_at === 'infinity' ? 12 : 8);
      assert.ok((row.compressed?.byteLength ?? 0) < JSON.stringify(storedState(stateOf(row))).length / 2);
    }
    const { state } = await database().execute('deriveState', { session_id, version: DERIVE_VERSION, differs: null });
    assert.is(state && stateOf(state).turns, 12);
  });

  test('what an earlier build stored is read and gone on from, also where a call comes late', async () => {
    await storeCalls(database(), calls(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11));
    await deriveAll(database());
    const before = (await rowsOf(database())).map((row) => stateOf(row));
    await decompress(database());
    const rows = await rowsOf(database());
    assert.equal(
      rows.map((row) => [row.compressed, stateOf(row)]),
      before.map((state) => [null, state]),
    );
    await storeCalls(database(), calls(12));
    await deriveAll(database());
    assert.equal(
      (await rowsOf(database())).map(({ compressed }) => compressed === null),
      [true, false],
      'the checkpoint is as it was',
    );
    await storeCalls(database(), calls(10));
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
