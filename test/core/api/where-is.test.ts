/** GET /v1/whereis/{id}: each kind of id leads to its place, by an index, and none to what is deleted. */
import * as assert from 'uvu/assert';
import { Places } from '../../../core/model/place.ts';
import { databaseSuite } from '../../support/databases.ts';
import { idOf, insertRawTurns, insertSessions, insertSpans, insertTraces } from '../../support/projection-rows.ts';
import { testApi } from '../../support/read-api.ts';

databaseSuite('where an id belongs', (test, database) => {
  const find = async (id: string) => {
    const response = await testApi({ execute: database().execute }).request(`/v1/whereis/${encodeURIComponent(id)}`);
    assert.is(response.status, 200, id);
    return Places.parse(await response.json()).items;
  };
  const [session_id, trace_id, span_id] = [idOf('session', 1), idOf('trace', 1), idOf('span', 1)];
  let raw_turn_id = 0;

  test.before.each(async () => {
    await database().reset();
    await insertSessions(database(), [{ n: 1 }, { n: 2, harness_id: 'codex' }, { n: 3, harness_id: 'pi' }]);
    [raw_turn_id = 0] = await insertRawTurns(database(), [
      { session: 1, seq: 1, request: Buffer.from('{}'), response: Buffer.from('{}') },
    ]);
    await insertTraces(database(), [
      { n: 1, session: 1 },
      { n: 2, session: 2 },
    ]);
    await insertSpans(database(), [
      { n: 1, trace: 1, session: 1, raw_turn_id, external_id: 'msg_1' },
      { n: 2, trace: 1, session: 1, raw_turn_id, kind: 'tool', external_id: 'toolu_1' },
      { n: 3, trace: 2, session: 2, kind: 'tool', external_id: 'toolu_1' },
      { n: 4, trace: 2, session: 2, external_id: `${'long/'.repeat(90)}é` },
    ]);
  });

  test('ids of every kind lead to their place', async () => {
    const call = { session_id, trace_id, span_id, raw_turn_id };
    assert.equal(await find(session_id), [{ kind: 'session', session_id }]);
    assert.equal(await find(session_id.toUpperCase()), [{ kind: 'session', session_id }]);
    assert.equal(await find('harness-session-1'), [{ kind: 'harness_session', session_id }]);
    assert.equal(await find('harness-session-3'), [{ kind: 'harness_session', session_id: idOf('session', 3) }]);
    assert.equal(await find(trace_id), [{ kind: 'trace', session_id, trace_id }]);
    assert.equal(await find(span_id), [{ kind: 'span', ...call }]);
    assert.equal(await find(`${raw_turn_id}`), [{ kind: 'raw_turn', ...call }]);
    assert.equal(await find('msg_1'), [{ kind: 'response', ...call }]);
    assert.equal(await find('request-1-1'), [{ kind: 'svc_proxy_request', ...call }]);
    const [long] = await find(`${'long/'.repeat(90)}é`);
    assert.is(long?.span_id, idOf('span', 4));
  });

  test('the first four digits of an id and more lead to all that begin so', async () => {
    const found = async (id: string) => (await find(id)).map(({ kind, session_id: of }) => `${kind} of ${of}`);
    for (const length of [8, 9, 14, 23, 35]) {
      assert.ok((await found(session_id.slice(0, length))).includes(`session of ${session_id}`), `${length}`);
      assert.ok((await found(trace_id.slice(0, length).toUpperCase())).includes(`trace of ${session_id}`), `${length}`);
      assert.ok((await found(span_id.slice(0, length))).includes(`span of ${session_id}`), `${length}`);
    }
    assert.ok((await found(session_id.slice(0, 4))).includes(`session of ${session_id}`));
    assert.equal(await find(session_id.slice(0, 3)), []);
    assert.equal(await find(`${session_id.slice(0, 8)}-x`), []);
    assert.equal(await find(session_id.slice(0, 12).replace('-', '')), []);
    await database().execute('deleteSession', { session_id });
    assert.equal(await found(session_id.slice(0, 20)), []);
  });

  test('an id that several have leads to all of them', async () => {
    const found = await find('toolu_1');
    assert.equal(
      found.map(({ kind, span_id }) => `${kind} ${span_id}`).sort(),
      [2, 3].map((n) => `tool_call ${idOf('span', n)}`),
    );
    const rows = Array.from({ length: 80 }, (_, n) => ({ n: 100 + n, trace: 2, session: 2, external_id: 'same' }));
    await insertSpans(database(), rows);
    assert.is((await find('same')).length, 50);
  });

  test('what nothing has, what no column can hold and what is deleted is nowhere', async () => {
    for (const id of ['nothing', idOf('session', 9), '999999999999999', '9'.repeat(40), 'a\u0000b', '%', "' or 1=1--"])
      assert.equal(await find(id), [], id);
    await database().execute('deleteSession', { session_id });
    for (const id of [session_id, trace_id, span_id, `${raw_turn_id}`, 'msg_1', 'request-1-1', 'harness-session-1'])
      assert.equal(await find(id), [], id);
    assert.is((await find('toolu_1')).length, 1);
    const long = await testApi().request(`/v1/whereis/${'x'.repeat(513)}`);
    assert.is(long.status, 404);
  });

  test('a turn that was corrected is where it was moved', async () => {
    await database().sql(
      "insert into svc.raw_turn_corrections (raw_turn_id, kind, session_id, reason) values ($1::bigint, 'repair', $2::uuid, 'test')",
      [raw_turn_id, idOf('session', 2)],
    );
    const [place] = await find(`${raw_turn_id}`);
    assert.is(place?.session_id, idOf('session', 2));
  });
});
