/** GET /v1/browse/sessions as it is asked over HTTP: its parameters, its cursors, and what it says of those that cannot be. */
import * as assert from 'uvu/assert';
import { Problem } from '../../../core/model/problem.ts';
import { SessionPage } from '../../../core/model/session.ts';
import { databaseSuite } from '../../support/databases.ts';
import { insertRollups, insertSessions, instantAt } from '../../support/projection-rows.ts';
import { type Json, testApi } from '../../support/read-api.ts';

databaseSuite('browsing sessions', (test, database) => {
  const ask = (query: string) => testApi({ execute: database().execute }).request(`/v1/browse/sessions${query}`);
  const get = async (query: string): Promise<Json> => {
    const response = await ask(query);
    assert.is(response.status, 200, query);
    return response.json();
  };
  const found = async (query: string): Promise<number[]> =>
    (await get(query)).items.map((item: Json) => Number.parseInt(item.id.slice(1, 8), 16));
  const refusal = async (query: string): Promise<string> => {
    const response = await ask(query);
    assert.is(response.status, 400, query);
    const { code, error } = Problem.parse(await response.json());
    assert.is(code, 'bad-request');
    return error;
  };

  test.before.each(async () => {
    await database().reset();
    await insertSessions(
      database(),
      [1, 2, 3].map((n) => ({ n, last_seen_at: instantAt(10 * n) })),
    );
    await insertRollups(database(), [
      { n: 1, project: 'atlas', status: 'completed', title: 'Fix the carry', trace_count: 2 },
      { n: 2, project: 'atlas', status: 'failed', title: 'Read core/adder.ts', trace_count: 1 },
    ]);
  });

  test('a page is what GET /v1/sessions answers, those active last first', async () => {
    const page = SessionPage.parse(await get(''));
    assert.equal(page, await (await testApi({ execute: database().execute }).request('/v1/sessions')).json());
    assert.equal(await found(''), [3, 2, 1]);
  });

  test('filters and orders are taken from the query', async () => {
    for (const [query, expected] of [
      ['?project=atlas', [2, 1]],
      ['?text=CARR%20fix', [1]],
      ['?text=adder', [2]],
      ['?status=completed', [1]],
      ['?status=unknown,completed', [3, 1]],
      ['?status=unknown%2Cfailed', [3, 2]],
      ['?harness_id=claude-code&sort=turn_count', [1, 2, 3]],
      ['?sort=turn_count&direction=asc', [3, 2, 1]],
      [`?since=${instantAt(20)}`, [3, 2]],
      [`?until=${instantAt(2)}`, [1]],
      ['?project=atlas&status=failed&text=read', [2]],
      ['?project=nowhere', []],
    ] as const)
      assert.equal(await found(query), [...expected], query);
  });

  test('an empty filter is an absent one', async () => {
    assert.equal(await found('?text=&project=&agent_name=&model=&provider=&harness_id=&status='), [3, 2, 1]);
  });

  test('a value that cannot be is refused in a sentence that names what can', async () => {
    assert.match(
      await refusal('?sort=size'),
      'last_active, started_at, turn_count, total_cost, total_tokens, duration',
    );
    assert.match(await refusal('?sort='), 'last_active');
    assert.match(await refusal('?direction=up'), 'desc, asc');
    assert.match(await refusal('?status=done'), 'completed, failed, abandoned, interrupted, unknown');
    assert.match(await refusal('?status=failed,'), 'completed, failed, abandoned, interrupted, unknown');
    assert.match(await refusal('?since=lately'), 'RFC 3339');
    assert.match(await refusal('?until='), 'RFC 3339');
    assert.match(await refusal('?text=%2B%2B'), 'between 1 and 16 words');
    assert.match(await refusal(`?text=${Array.from({ length: 17 }, (_, n) => `w${n}`).join('+')}`), 'between 1 and 16');
    assert.match(await refusal(`?text=${'x'.repeat(501)}`), 'at most 500 characters');
    for (const name of ['text', 'project', 'status', 'sort', 'direction', 'since'])
      await refusal(`?${name}=failed&${name}=failed`);
  });

  test('text that no column can hold is found nowhere', async () => {
    for (const odd of ['%00', 'a%00b', '%ED%A0%80'])
      for (const name of ['project', 'agent_name', 'model', 'provider', 'harness_id'])
        assert.equal(await found(`?${name}=${odd}`), [], `${name}=${odd}`);
    assert.equal(await found('?text=a%00b'), []);
    assert.equal(await found("?text=fix'%3A*%20%26%20!carry"), [1], 'the syntax of a text search is no syntax here');
  });

  test('a cursor goes on from the same filters and order, whatever the page size, and from no other', async () => {
    const query = 'project=atlas&status=failed,completed&sort=turn_count';
    const { next_cursor } = await get(`?${query}&limit=1`);
    assert.equal(await found(`?${query}&limit=9&cursor=${next_cursor}`), [2]);
    assert.equal(
      await found(`?cursor=${next_cursor}&sort=turn_count&direction=desc&status=completed,failed,failed&project=atlas`),
      [2],
      'the same parameters, told differently',
    );
    for (const other of [
      query.replace('atlas', 'engine'),
      query.replace('failed,', ''),
      query.replace('turn_count', 'total_tokens'),
      `${query}&direction=asc`,
      `${query}&text=fix`,
      `${query}&until=2030-01-01T00:00:00Z`,
      '',
    ])
      assert.match(await refusal(`?${other}&cursor=${next_cursor}`), 'belongs to another list or other parameters');
  });

  test('sessions that a clock ended before their start have a place in the order of durations', async () => {
    await database().sql("update svc.sessions set last_seen_at = started_at - interval '2 seconds'");
    const query = 'sort=duration&direction=asc&limit=1';
    const { next_cursor } = await get(`?${query}`);
    assert.is((await found(`?${query}&cursor=${next_cursor}`)).length, 1);
  });

  test('a forged place is refused in every order', async () => {
    for (const sort of ['last_active', 'started_at', 'turn_count', 'total_cost', 'total_tokens', 'duration']) {
      const { next_cursor } = await get(`?sort=${sort}&limit=1`);
      const [version, name, key] = JSON.parse(Buffer.from(next_cursor, 'base64url').toString());
      for (const place of ['', 'x', '0000-01-01T00:00:00Z', '9'.repeat(99), '-', 'NaN', "1'", 1, null]) {
        const forged = Buffer.from(JSON.stringify([version, name, { ...key, place }])).toString('base64url');
        await refusal(`?sort=${sort}&cursor=${forged}`);
      }
    }
  });
});
