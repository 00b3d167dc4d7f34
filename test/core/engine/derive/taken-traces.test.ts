/** A trace whose opening call has moved to another session is in that one alone, also before the former session is derived again. */
import * as assert from 'uvu/assert';
import { builtIn } from '../../../../core/call/reader.ts';
import { deriveSession } from '../../../../core/engine/derive/derive-session.ts';
import { answer, toolUse, user } from '../../../support/call-turn.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { deriveAll } from '../../../support/derive-all.ts';
import { journalCall, storeCalls } from '../../../support/stored-calls.ts';

databaseSuite('traces that another session takes', (test, database) => {
  test('its rows are deleted in the former session, and the outline that readers have of that is void', async () => {
    const first = { at: 1, call_id: 'a-1', says: [user('Read it')], answers: answer(toolUse('toolu_1', 'Read')) };
    const second = { at: 2, call_id: 'a-2', says: [user('Something else')], answers: answer('Well') };
    await storeCalls(database(), [journalCall('a', first), journalCall('a', second)]);
    await storeCalls(database(), [
      journalCall('b', { at: 3, call_id: 'b-1', says: [user('Hello')], answers: answer('Hi') }),
    ]);
    await deriveAll(database());
    const sql = database().sql;
    const sessions = await sql('select session_id, harness_session_id as name from svc.sessions order by started_at');
    const [a, b] = ['a', 'b'].map((name) => sessions.find((session) => session.name === name)?.session_id);
    const [turn] = await sql(
      `select t.raw_turn_id, s.trace_id from svc.raw_turns t join svc.spans s on s.raw_turn_id = t.raw_turn_id
        where t.svc_proxy_request_id = 'a-1' limit 1`,
    );
    const sessionsOf = async (table: string, column = 'trace_id') =>
      (await sql(`select distinct session_id from svc.${table} where ${column} = $1 order by 1`, [turn?.trace_id])).map(
        (row) => row.session_id,
      );
    assert.equal([await sessionsOf('traces'), await sessionsOf('spans')], [[a], [a]]);
    assert.equal(await sessionsOf('span_links', 'from_trace_id'), [a], 'the call and its tool are linked');

    await sql(
      `insert into svc.raw_turn_corrections (raw_turn_id, kind, session_id, reason) values ($1, 'link', $2, 'a test')`,
      [turn?.raw_turn_id, b],
    );
    await sql('insert into svc.derive_queue (session_id, from_scratch) values ($1, true)', [b]);
    const [lease] = await database().execute('leaseDirty', { limit: 1, background: false, lease_ms: 60_000 });
    assert.is(lease?.session_id, b);
    if (lease) {
      const signal = new AbortController().signal;
      assert.is((await deriveSession({ database: database(), reader: builtIn, signal }, lease)).end, 'done');
    }
    assert.equal([await sessionsOf('traces'), await sessionsOf('spans')], [[b], [b]]);
    assert.equal(await sessionsOf('span_links', 'from_trace_id'), [b]);
    const [former] = await sql('select rev = floor as void from svc.session_revisions where session_id = $1', [a]);
    assert.is(former?.void, true);
  });
});
