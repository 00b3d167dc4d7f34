/** What people and cassettes made of a session goes with that into which it was merged. */
import * as assert from 'uvu/assert';
import { sessionId } from '../../../../core/call/identity.ts';
import { capturedCall, requestId, takeIn } from '../../../support/captured-calls.ts';
import { cassettesOf, furnished } from '../../../support/cassette-database.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { deriveAll } from '../../../support/derive-all.ts';
import { testApi } from '../../../support/read-api.ts';

const call = (n: number, after: string | null, session: string | null = null) =>
  capturedCall({
    n,
    headers: session === null ? [] : [...named(session)],
    format: 'openai.responses',
    request: { model: 'gpt-5', input: `Question ${n}`, ...(after !== null && { previous_response_id: after }) },
    response: JSON.stringify({
      ...{ id: `resp_${n}`, object: 'response', status: 'completed', model: 'gpt-5' },
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: `Answer ${n}` }] }],
      usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
    }),
  });
const named = (session: string) =>
  [
    ['x-svc-harness-id', 'test'],
    ['x-svc-harness-session-id', session],
  ] as [string, string][];

const TO = sessionId('test', 'to');
/** Of a call that waits for an answer of `to`. */
const MERGED = sessionId('unknown', requestId(2));
const OTHER = sessionId('test', 'other');
const TABLES = `create table made (id integer primary key, name text, session_ids uuid[], edited boolean);
  create table kept (session_id uuid, at text);`;

databaseSuite('a session that was merged', (test, database) => {
  test.before.each(() => database().reset());

  /** Of a session that is merged later, of another session, and of both, which somebody edited. */
  const made = async () => {
    const api = testApi({ execute: database().execute });
    await takeIn(database(), [call(2, 'resp_1'), call(9, null, 'other')]);
    await deriveAll(database());
    for (const [id, display_name] of [
      [MERGED, 'Of the merged one'],
      [OTHER, 'Of another'],
    ]) {
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ display_name });
      assert.is((await api.request(`/v1/sessions/${id}`, { method: 'PATCH', headers, body })).status, 200);
    }
    await database().sql(`
      insert into cassette_notes.made values (1, 'merged', '{${MERGED}}', false), (2, 'other', '{${OTHER}}', false),
             (3, 'edited', '{${OTHER},${MERGED}}', true)`);
    await database().sql(`insert into cassette_notes.kept values ('${MERGED}', 'merged'), ('${OTHER}', 'other')`);
    await takeIn(database(), [call(1, null, 'to')]);
    await deriveAll(database());
    const rows = await database().sql(
      `select session_id, emptied from svc.sessions where session_id in ('${TO}', '${MERGED}') order by emptied`,
    );
    assert.equal(rows, [
      { session_id: TO, emptied: false },
      { session_id: MERGED, emptied: true },
    ]);
    return api;
  };
  const left = async () => ({
    made: (await database().sql('select id from cassette_notes.made order by id')).map(({ id }) => id),
    kept: (await database().sql('select at from cassette_notes.kept')).map(({ at }) => at),
    names: (
      await database().sql('select display_name from svc.session_edits where display_name is not null order by 1')
    ).map(({ display_name }) => display_name),
  });
  const whatIsOfOthers = { made: [2, 3], kept: ['other'], names: ['Of another'] };
  const withCassette = async (work: () => Promise<void>) => {
    const cassettes = cassettesOf(database());
    try {
      await furnished(cassettes, 'notes', { tables: TABLES });
      await work();
    } finally {
      await database().execute('removeCassette', { name: 'notes' });
      await cassettes.close();
    }
  };

  test('goes with a purge: its name, and what was made of it, is named as well', () =>
    withCassette(async () => {
      const api = await made();
      const purge = async () => {
        const response = await api.request(`/v1/admin/sessions/${TO}/purge`, { method: 'POST' });
        assert.is(response.status, 200);
        return response.json();
      };
      const { raw_turns, made_of_it } = await purge();
      const row = { cassette: 'notes', table: 'made' };
      const edited = { ...row, id: '3', name: 'edited', removed: false };
      assert.is(raw_turns, 2);
      assert.equal(made_of_it, [{ ...row, id: '1', name: 'merged', removed: true }, edited]);
      assert.equal(await left(), whatIsOfOthers);
      assert.equal((await purge()).made_of_it, [edited], 'as long as it is there');
    }));

  test('goes with what retention removes', () =>
    withCassette(async () => {
      await made();
      const [row] = await database().sql(`
        select to_char(last_seen_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at
          from svc.sessions where session_id = '${TO}'`);
      const session_ids = await database().execute('beginRemovals', {
        sessions: [{ session_id: TO, last_seen_at: String(row?.at), reason: 'test' }],
      });
      assert.equal(session_ids, [TO]);
      await database().execute('forgetRemoved', { session_ids });
      assert.equal(await left(), whatIsOfOthers);
    }));

  test('that has got turns of its own since keeps what is its own', () =>
    withCassette(async () => {
      const api = await made();
      const headers = { 'content-type': 'application/json' };
      const [turn] = await database().sql(`select raw_turn_id from svc.raw_turns where session_id = '${OTHER}'`);
      const body = JSON.stringify({
        ...{ raw_turn_id: Number(turn?.raw_turn_id), harness_id: 'unknown', harness_session_id: requestId(2) },
        reason: 'test',
      });
      const repair = '/v1/admin/raw-turns/attribution-repair';
      assert.ok((await api.request(repair, { method: 'POST', headers, body })).ok);
      await deriveAll(database());
      assert.is((await api.request(`/v1/admin/sessions/${TO}/purge`, { method: 'POST' })).status, 200);
      assert.equal((await left()).names, ['Of another', 'Of the merged one']);
    }));
});
