/** What people do with a session: a name of their own, and out of sight. */
import * as assert from 'uvu/assert';
import { Problem } from '../../../core/model/problem.ts';
import { Session } from '../../../core/model/session.ts';
import { databaseSuite } from '../../support/databases.ts';
import { idOf, insertRollups, insertSessions, insertTraces } from '../../support/projection-rows.ts';
import { type Json, testApi } from '../../support/read-api.ts';

const id = idOf('session', 1);
const JSON_TYPE = { 'content-type': 'application/json' };

databaseSuite('editing a session', (test, database) => {
  const ask = (method: string, path: string, body?: unknown, headers: Record<string, string> = JSON_TYPE) =>
    testApi({ execute: database().execute }).request(path, {
      method,
      ...(body === undefined ? {} : { headers, body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  const patch = (body: unknown, headers?: Record<string, string>) => ask('PATCH', `/v1/sessions/${id}`, body, headers);
  const named = async (display_name: unknown): Promise<Json> => {
    const response = await patch({ display_name });
    assert.is(response.status, 200);
    const { session } = (await response.json()) as Json;
    Session.parse(session);
    return session;
  };
  const changes = async () =>
    (
      await database().sql('select changed_by::text as by from svc.session_changes where session_id = $1::uuid', [id])
    )[0]?.by;

  test.before.each(async () => {
    await database().reset();
    await insertSessions(database(), [{ n: 1 }, { n: 2 }]);
    await insertRollups(database(), [{ n: 1, title: 'Fix the carry' }]);
    await insertTraces(database(), [{ n: 1, session: 1 }]);
  });

  test('a name is trimmed, shown, and taken away by null, by nothing and by spaces', async () => {
    for (const nothing of [null, '', ' \n ']) {
      const session = await named('  Carry, at last \n');
      assert.equal([session.display_name, session.display_title], ['Carry, at last', 'Carry, at last']);
      const bare = await named(nothing);
      assert.not.ok('display_name' in bare);
      assert.is(bare.display_title, 'Fix the carry');
    }
  });

  test('a name outlives the projection', async () => {
    await named('Mine');
    await database().sql('truncate svc.session_rollups, svc.traces cascade');
    const { session } = (await (await ask('GET', `/v1/sessions/${id}`)).json()) as Json;
    assert.is(session.display_name, 'Mine');
  });

  test('two hundred characters are enough, counted as people count them', async () => {
    const most = '\u{1f6a2}'.repeat(200);
    assert.is((await named(most)).display_name, most);
    assert.is((await named(` ${'a'.repeat(200)} `)).display_name, 'a'.repeat(200));
    const response = await patch({ display_name: `${most}.` });
    assert.is(response.status, 400);
    assert.match(Problem.parse(await response.json()).error, /display_name.*200 characters/);
  });

  test('what no column can hold is replaced', async () => {
    assert.is((await named('a\u0000b\ud800c')).display_name, 'a\ufffdb\ufffdc');
  });

  test('a star is set and taken away, and neither edit touches the other', async () => {
    const edited = async (body: unknown): Promise<Json> => {
      const response = await patch(body);
      assert.is(response.status, 200);
      return Session.parse(((await response.json()) as Json).session);
    };
    const starred = async (): Promise<unknown[]> =>
      ((await (await ask('GET', '/v1/browse/sessions?starred=true')).json()) as Json).items.map(
        (item: Json) => item.id,
      );
    const facts = ({ display_name, starred }: Session) => [display_name, starred];
    assert.equal(facts(await edited({ starred: false })), [undefined, false]);
    assert.equal(facts(await edited({ starred: true })), [undefined, true]);
    const [since] = await database().sql('select starred_at::text as at from svc.session_edits');
    assert.equal(facts(await edited({ display_name: 'Mine' })), ['Mine', true]);
    assert.equal(await starred(), [id]);
    assert.equal(facts(await edited({ starred: true, display_name: null })), [undefined, true]);
    assert.equal(await database().sql('select starred_at::text as at from svc.session_edits'), [since]);
    assert.equal(facts(await edited({ display_name: 'Mine', starred: false })), ['Mine', false]);
    assert.equal(facts(await edited({ display_name: 'Mine' })), ['Mine', false]);
    assert.equal(await starred(), []);
    await ask('DELETE', `/v1/sessions/${id}`);
    assert.is((await patch({ starred: true })).status, 404);
  });

  test('a body that is neither a name nor a star is refused', async () => {
    const bodies = [{}, { display_name: 1 }, { name: 'x' }, { starred: null }, { starred: 'true' }, [], null, '{"dis'];
    for (const body of bodies) {
      const response = await patch(body);
      assert.is(response.status, 400, JSON.stringify(body));
      Problem.parse(await response.json());
    }
    assert.is((await ask('PATCH', `/v1/sessions/${id}`)).status, 400, 'no body');
    assert.is((await patch('{"display_name":"x"}', { 'content-type': 'text/plain' })).status, 415);
    assert.is((await patch({ display_name: 'x'.repeat(5_000) })).status, 413);
    assert.equal(await database().sql('select session_id from svc.session_edits'), []);
  });

  test('a deleted session is nowhere, and deleting it again finds none', async () => {
    const response = await ask('DELETE', `/v1/sessions/${id}`);
    assert.equal([response.status, await response.text()], [204, '']);
    const list = (await (await ask('GET', '/v1/sessions')).json()) as Json;
    assert.equal(
      list.items.map((item: Json) => item.id),
      [idOf('session', 2)],
    );
    for (const [method, path, body] of [
      ['GET', `/v1/sessions/${id}`],
      ['GET', `/v1/sessions/${id}/traces`],
      ['GET', `/v1/traces/${idOf('trace', 1)}`],
      ['DELETE', `/v1/sessions/${id}`],
      ['PATCH', `/v1/sessions/${id}`, { display_name: 'Back' }],
    ] as const) {
      const gone = await ask(method, path, body);
      assert.is(gone.status, 404, `${method} ${path}`);
      Problem.parse(await gone.json());
    }
    for (const view of ['sessions where id', 'span_turns where session_id', 'spans where session_id'])
      assert.equal(await database().sql(`select 1 as one from svc_v1.${view} = $1::uuid`, [id]), [], view);
  });

  test('an unknown session is neither renamed nor deleted', async () => {
    const path = `/v1/sessions/${idOf('session', 99)}`;
    assert.is((await ask('PATCH', path, { display_name: 'x' })).status, 404);
    assert.is((await ask('DELETE', path)).status, 404);
    assert.is((await ask('DELETE', '/v1/sessions/none')).status, 404);
    assert.equal(await database().sql('select session_id from svc.session_edits'), []);
  });

  test('each edit is noted as a change', async () => {
    const before = await changes();
    await named('x');
    const renamed = await changes();
    assert.is.not(renamed, before);
    await ask('DELETE', `/v1/sessions/${id}`);
    assert.is.not(await changes(), renamed);
  });
});
