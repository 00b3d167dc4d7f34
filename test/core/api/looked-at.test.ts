import * as assert from 'uvu/assert';
import { openLooks } from '../../../core/api/looked-at.ts';
import { answer, user } from '../../support/call-turn.ts';
import { databaseSuite } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';
import { testApi } from '../../support/read-api.ts';
import { journalCall, storeCalls } from '../../support/stored-calls.ts';

databaseSuite('sessions that are read', (test, database) => {
  const turn = (session: string, at: number) =>
    journalCall(session, { at, call_id: `${session}-${at}`, says: [user(`At ${at}`)], answers: answer('Ok') });

  test('come first when they are behind, for a minute, and also with a turn that comes in later', async () => {
    let now = Date.parse('2026-07-27T10:00:00Z');
    const executed: string[] = [];
    const execute = ((name, args) => {
      executed.push(name);
      return database().execute(name, args);
    }) as ReturnType<typeof database>['execute'];
    const api = testApi({ execute, looked: openLooks(execute, () => now) });
    const [watched = ''] = await storeCalls(database(), [turn('watched', 0)]);
    await storeCalls(database(), [turn('other', 0), turn('another', 0)]);
    assert.is((await api.request(`/v1/sessions/${watched.toUpperCase()}`)).status, 200);
    assert.is((await api.request('/v1/sessions/no-id/traces')).status, 404);
    const marked = async () => {
      const rows = await database().sql('select session_id from svc.derive_queue where looked_at is not null');
      return rows.map(({ session_id }) => session_id);
    };
    await eventually(async () => (await marked()).includes(watched));
    assert.equal(await marked(), [watched]);

    await database().sql('truncate svc.derive_queue'); // as if all were derived
    await storeCalls(database(), [turn('other', 1), turn('watched', 1), turn('another', 1)]);
    await eventually(async () => (await marked()).includes(watched));
    const [first] = await database().execute('leaseDirty', { limit: 1, background: false, lease_ms: 60_000 });
    assert.is(first?.session_id, watched);

    now += 61_000;
    let marks = 0;
    await eventually(async () => {
      const before = marks;
      marks = executed.filter((name) => name === 'markLookedAt').length;
      await new Promise((done) => setTimeout(done, 1_100)); // two times as long as the marks are apart
      return executed.filter((name) => name === 'markLookedAt').length === marks && marks === before;
    });
  });
});
