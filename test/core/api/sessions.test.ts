import * as assert from 'uvu/assert';
import { readContract } from '../../../core/api/app.ts';
import { Problem } from '../../../core/model/problem.ts';
import { displayTitle, Session, type SessionRecord } from '../../../core/model/session.ts';
import { databaseSuite } from '../../support/databases.ts';
import { idOf, insertRollups, insertSessions, instantAt } from '../../support/projection-rows.ts';
import { type Json, testApi } from '../../support/read-api.ts';

databaseSuite('sessions of the read API', (test, database) => {
  const api = () => testApi({ execute: database().execute });
  const get = async (path: string): Promise<Json> => {
    const response = await api().request(path);
    assert.is(response.status, 200, `${path}: ${response.status}`);
    return response.json();
  };

  test.before.each(() => database().reset());

  test('nothing yet is an empty list', async () => {
    assert.equal(await get('/v1/sessions'), { items: [] });
  });

  test('pages hold every session once, those seen last first, also where instants are equal', async () => {
    await insertSessions(
      database(),
      Array.from({ length: 23 }, (_, n) => ({ n, last_seen_at: instantAt(Math.floor(n / 4)) })),
    );
    const seen: string[] = [];
    let cursor = '';
    let pages = 0;
    do {
      const page = await get(`/v1/sessions?limit=5${cursor && `&cursor=${cursor}`}`);
      seen.push(...page.items.map((item: Json) => item.id));
      assert.ok(page.items.length <= 5);
      cursor = page.next_cursor ?? '';
      pages++;
    } while (cursor);
    assert.is(pages, 5);
    assert.equal(
      seen,
      Array.from({ length: 23 }, (_, n) => idOf('session', 22 - n)),
    );
    assert.is((await get('/v1/sessions?limit=23')).next_cursor, undefined, 'a full last page has no next');
  });

  test('a new session neither shifts nor repeats what a reader pages through', async () => {
    await insertSessions(
      database(),
      Array.from({ length: 4 }, (_, n) => ({ n })),
    );
    const first = await get('/v1/sessions?limit=2');
    await insertSessions(database(), [{ n: 9 }]);
    const second = await get(`/v1/sessions?limit=2&cursor=${first.next_cursor}`);
    assert.equal(
      [...first.items, ...second.items].map((item: Json) => item.id),
      [3, 2, 1, 0].map((n) => idOf('session', n)),
    );
  });

  test('50 unless told, never more than 200', async () => {
    await insertSessions(
      database(),
      Array.from({ length: 220 }, (_, n) => ({ n })),
    );
    assert.is((await get('/v1/sessions')).items.length, 50);
    for (const limit of ['200', '201', '99999999999999999999', '0200'])
      assert.is((await get(`/v1/sessions?limit=${limit}`)).items.length, 200, limit);
    assert.is((await get('/v1/sessions?limit=1')).items.length, 1);
  });

  test('the list takes limit and cursor, and refuses what is no parameter of it', async () => {
    const { paths } = readContract('0') as Json;
    assert.equal(
      paths['/v1/sessions'].get.parameters.map((parameter: Json) => [parameter.name, parameter.in, parameter.required]),
      ['limit', 'cursor'].map((name) => [name, 'query', false]),
    );
    for (const other of ['sort=started_at', 'direction=asc', 'since=2030-01-01T00:00:00Z', 'harness_session_id=x'])
      assert.is((await api().request(`/v1/sessions?${other}`)).status, 400, other);
  });

  test('the cursor of another list is refused', async () => {
    await insertSessions(database(), [{ n: 1 }, { n: 2 }]);
    const { next_cursor } = await get('/v1/sessions?limit=1');
    for (const path of [
      `/v1/traces?cursor=${next_cursor}`,
      `/v1/sessions/${idOf('session', 1)}/raw_turns?cursor=${next_cursor}`,
      `/v1/sessions?cursor=${next_cursor.slice(0, -3)}`,
    ]) {
      const response = await api().request(path);
      assert.is(response.status, 400, path);
      Problem.parse(await response.json());
    }
  });

  test('a session tells all that is known of it, and nothing that is empty', async () => {
    await insertSessions(database(), [
      {
        n: 1,
        last_seen_at: '2026-07-27T09:56:00Z',
        auth_subject: 'ada',
        turn_count: 9,
        fork_of_session_id: idOf('session', 2),
      },
      { n: 2, ended_at: instantAt(5), last_seen_at: '2026-07-27T09:59:59Z' },
    ]);
    await insertRollups(database(), [
      {
        n: 1,
        name: 'engine-room',
        cwd: '/home/ada',
        harness_metadata: { demo: true },
        agent_name: 'claude',
        project: 'engine',
        status: 'completed',
        title: 'Fix the carry',
        preview: 'The adder drops its carry',
        model: 'claude-sonnet-4-5',
        trace_count: 2,
        input_tokens: 5_000_000_000,
        output_tokens: 7,
        cost_usd: '0.123456789',
        unpriced_models: ['llama3'],
        model_usage: [
          {
            model: 'claude-sonnet-4-5',
            price: { source: 'genai-prices', date: '2026-07-01' },
            calls: 3,
            input_tokens: 4,
            output_tokens: 7,
            cost_usd: '0.123456789',
          },
          { model: 'llama3', price: null, calls: 1, input_tokens: 1, output_tokens: 0, cost_usd: null },
        ],
        kind_counts: { main: 4 },
        tasks: [{ id: '1', subject: 'look' }],
      },
    ]);
    const { session } = await get(`/v1/sessions/${idOf('session', 1)}`);
    Session.parse(session);
    assert.equal(session, {
      id: idOf('session', 1),
      harness_id: 'claude-code',
      harness_session_id: 'harness-session-1',
      harness_metadata: { demo: true },
      fork_of_session_id: idOf('session', 2),
      auth_subject: 'ada',
      agent_name: 'claude',
      project: 'engine',
      cwd: '/home/ada',
      name: 'engine-room',
      started_at: instantAt(1),
      last_seen_at: '2026-07-27T09:56:00.000000Z',
      raw_turn_count: 9,
      rollup: {
        status: 'completed',
        title: 'Fix the carry',
        preview: 'The adder drops its carry',
        turn_count: 2,
        model: 'claude-sonnet-4-5',
        model_usage: [
          {
            model: 'claude-sonnet-4-5',
            calls: 3,
            input_tokens: 4,
            output_tokens: 7,
            cost_usd: 0.123456789,
            price: { source: 'genai-prices', date: '2026-07-01' },
          },
          { model: 'llama3', calls: 1, input_tokens: 1, output_tokens: 0, cost_usd: null, price: null },
        ],
        kind_counts: { main: 4 },
        tool_result_count: 0,
        tool_error_count: 0,
        error_count: 0,
        shape: [],
        has_git_activity: false,
        tasks: [{ id: '1', subject: 'look' }],
        usage: {
          input_tokens: 5_000_000_000,
          output_tokens: 7,
          cache_read_tokens: 0,
          cache_write_tokens: 0,
          reasoning_tokens: 0,
          cost_usd: 0.123456789,
          unpriced_models: ['llama3'],
        },
      },
      display_title: 'Fix the carry',
      live: true,
      starred: false,
    });
    const bare = (await get(`/v1/sessions/${idOf('session', 2)}`)).session;
    Session.parse(bare);
    assert.equal(bare.live, false, 'an ended session is not live, whenever it was seen');
    assert.equal(bare.display_title, 'harness-sess');
    assert.is(bare.rollup.status, 'unknown');
    assert.is(bare.rollup.usage.cost_usd, null, 'no price known is no price, not 0');
    for (const absent of ['cwd', 'name', 'auth_subject', 'harness_metadata', 'project'])
      assert.not.ok(absent in bare, absent);
    for (const absent of ['title', 'preview', 'model', 'model_usage']) assert.not.ok(absent in bare.rollup, absent);
    assert.equal((await get('/v1/sessions')).items, [bare, session], 'the list shows the same');
  });

  test('a session whose calls have no price costs null', async () => {
    await insertSessions(database(), [{ n: 1 }]);
    await insertRollups(database(), [
      {
        n: 1,
        unpriced_models: ['llama3'],
        model_usage: [{ model: 'llama3', price: null, calls: 1, input_tokens: 1, output_tokens: 0, cost_usd: null }],
      },
    ]);
    const { usage } = (await get(`/v1/sessions/${idOf('session', 1)}`)).session.rollup;
    assert.equal([usage.cost_usd, usage.unpriced_models], [null, ['llama3']]);
  });

  test('five minutes after it was last seen a session is no longer live', async () => {
    await insertSessions(database(), [
      { n: 1, last_seen_at: '2026-07-27T09:55:00Z' },
      { n: 2, last_seen_at: '2026-07-27T09:54:59Z' },
    ]);
    const { items } = await get('/v1/sessions');
    assert.equal(
      items.map(({ live }: Json) => live),
      [true, false],
    );
  });

  test('a deleted session is nowhere, a renamed one goes by its name', async () => {
    await insertSessions(database(), [{ n: 1 }, { n: 2 }]);
    await database().sql('insert into svc.session_edits (session_id, deleted_at) values ($1::uuid, now())', [
      idOf('session', 1),
    ]);
    await database().sql('insert into svc.session_edits (session_id, display_name) values ($1::uuid, $2)', [
      idOf('session', 2),
      'Carry',
    ]);
    const { items } = await get('/v1/sessions');
    assert.equal(
      items.map((item: Json) => [item.id, item.display_title]),
      [[idOf('session', 2), 'Carry']],
    );
    for (const path of ['', '/traces', '/raw_turns']) {
      const response = await api().request(`/v1/sessions/${idOf('session', 1)}${path}`);
      assert.is(response.status, 404, path);
      assert.is(Problem.parse(await response.json()).code, 'session-unknown');
    }
  });

  test('an id in capital letters is the same id', async () => {
    await insertSessions(database(), [{ n: 10 }]);
    const { session } = await get(`/v1/sessions/${idOf('session', 10).toUpperCase()}`);
    assert.is(session.id, idOf('session', 10));
  });

  test('what a session is called', () => {
    const called = (given: Partial<SessionRecord>, rollup: Partial<SessionRecord['rollup']> = {}) =>
      displayTitle({ id: 'id', harness_session_id: '0123456789abcdef', ...given, rollup } as SessionRecord);
    const all = { display_name: 'Named', name: 'slug' };
    assert.is(called(all, { title: 'Titled', preview: 'Asked' }), 'Named');
    assert.is(called({ name: 'slug' }, { title: 'Titled', preview: 'Asked' }), 'Titled');
    assert.is(called({ name: 'slug' }, { preview: 'Asked' }), 'Asked');
    for (const json of ['{"task":1}', '[1, 2]', '{"task":"cut off wher', '[{"role":"user","content":"cut o'])
      assert.is(called({ name: 'slug' }, { preview: json }), 'slug', json);
    assert.is(called({}, { preview: '[draft] write a poem' }), '[draft] write a poem');
    assert.is(called({}), '0123456789ab');
    assert.is(called({ harness_session_id: '' }), 'id');
  });
});
