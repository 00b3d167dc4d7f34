/** GET /v1/stats over calls as they are captured: a test for each row of its contract, then filters, bounds and bad input. */
import * as assert from 'uvu/assert';
import { z } from 'zod';
import { readContract } from '../../../core/api/app.ts';
import { callMemory } from '../../../core/call/memory.ts';
import { builtIn } from '../../../core/call/reader.ts';
import type { Database } from '../../../core/db/database.ts';
import { boundAt } from '../../../core/model/filter.ts';
import { Problem } from '../../../core/model/problem.ts';
import { Stats } from '../../../core/model/stats.ts';
import { parsePriceTable, pricesWith } from '../../../core/price/price-file.ts';
import { type CallLike, capturedCall, takeIn } from '../../support/captured-calls.ts';
import { databaseSuite } from '../../support/databases.ts';
import { demoApi } from '../../support/demo-api.ts';
import { type Json, testApi } from '../../support/read-api.ts';

type Reply = { stop?: string; tokens?: [input: number, output: number]; tools?: number; model?: string };

const toolCalls = (count: number) =>
  count === 0
    ? {}
    : {
        tool_calls: Array.from({ length: count }, (_, n) => ({
          id: `call-${n}`,
          type: 'function',
          function: { name: 'look', arguments: '{}' },
        })),
      };

const user = (content: string) => ({ role: 'user', content });
const assistant = (content: string, tools = 0) => ({ role: 'assistant', content, ...toolCalls(tools) });

const replied = (content: string, { stop = 'stop', tokens = [10, 5], tools = 0, model = 'gpt-4o-mini' }: Reply = {}) =>
  JSON.stringify({
    id: 'chatcmpl-1',
    model,
    choices: [{ index: 0, message: assistant(content, tools), finish_reason: stop }],
    usage: { prompt_tokens: tokens[0], completion_tokens: tokens[1] },
  });

/** Call `n` is made n seconds after nine and answered half a second later; `harness` sessions come from the headers. */
const call = (n: number, session: string, messages: unknown[], response: string | null, more: Partial<CallLike> = {}) =>
  capturedCall({
    n,
    request: { model: 'gpt-4o-mini', messages },
    response,
    ...more,
    headers: [['x-svc-harness-id', 'bot'], ['x-svc-harness-session-id', session], ...(more.headers ?? [])],
  });

const toAnthropic = (n: number, session: string, words: string, stop_reason: string) =>
  call(
    n,
    session,
    [user(words)],
    JSON.stringify({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [{ type: 'text', text: 'Done' }],
      stop_reason,
      usage: { input_tokens: 1, cache_read_input_tokens: 20, cache_creation_input_tokens: 300, output_tokens: 7 },
    }),
    { format: 'anthropic.messages' },
  );

const ZEROS = {
  session_count: 0,
  turn_count: 0,
  root_count: 0,
  completed_count: 0,
  total_cost: 0,
  input_tokens: 0,
  output_tokens: 0,
  total_duration_ns: 0,
  tool_calls: 0,
  unpriced_models: [],
};

databaseSuite('stats of the read API', (test, database) => {
  const get = async (query = ''): Promise<Json> => {
    const response = await testApi({ execute: database().execute }).request(`/v1/stats${query}`);
    assert.is(response.status, 200, `${query}: ${response.status}`);
    const stats = z.strictObject(Stats.shape).parse(await response.json());
    return stats;
  };
  const store = (...calls: ReturnType<typeof call>[]) => takeIn(database(), calls);

  test.before.each(() => database().reset());

  test('session_count: distinct session heads in the matched window', async () => {
    await store(
      call(0, 'one', [user('Hello')], replied('Hi')),
      call(10, 'one', [user('Hello'), assistant('Hi'), user('More')], replied('Ok')),
      call(20, 'two', [user('Hello')], replied('Hi')),
      call(30, 'two', [user('Hello')], replied('Hi there')), // another answer: two heads, one session
    );
    assert.is((await get()).session_count, 2);
    assert.is((await get('?until=2026-11-21T09:00:20Z')).session_count, 1);
    const begun = await get('?until=2026-11-21T09:00:10Z');
    assert.equal([begun.session_count, begun.turn_count], [0, 2], 'its head lies after the window');
  });

  test('turn_count: number of nodes matching the filter', async () => {
    const opening = [{ role: 'system', content: 'Be brief' }, user('# MCP Server Instructions\nnone'), user('Hello')];
    await store(
      call(0, 'one', opening, replied('Hi')),
      call(1, 'one', [...opening, assistant('Hi'), user('More')], replied('Ok')),
    );
    assert.is((await get()).turn_count, 6, 'what is injected is a node too; what is repeated is none');
  });

  test('root_count: distinct DAG roots in the matched window', async () => {
    await store(
      call(0, 'one', [user('Hello')], replied('Hi')),
      call(1, 'one', [user('Hello'), assistant('Hi'), user('More')], replied('Ok')),
      call(2, 'one', [user('Begin anew')], replied('Sure')),
      call(3, 'two', [user('Hello')], replied('Hi')),
      call(4, 'three', [user('# MCP Server Instructions\nnone'), user('Hello')], replied('Hi')),
    );
    assert.is((await get()).root_count, 4, 'injected context opens no conversation');
    assert.is((await get('?since=2026-11-21T09:00:02Z&until=2026-11-21T09:00:03Z')).root_count, 1);
    assert.is((await get('?since=2026-11-21T09:00:01Z&until=2026-11-21T09:00:02Z')).root_count, 0);
  });

  test('completed_count: sessions whose head is an assistant leaf with a terminal stop_reason', async () => {
    const ends = [
      'stop',
      'STOP',
      'end_turn',
      'End_Turn',
      'end-turn',
      'eos',
      'EOS',
      'length',
      'tool_calls',
      'stopped',
      '',
    ];
    await store(
      ...ends.map((stop, n) =>
        call(n, `ends ${n}`, [user(`Hello ${n}`)], replied('Hi', { stop, model: `ends-by-${stop}` })),
      ),
    );
    const completed = [];
    for (const stop of ends) if ((await get(`?model=ends-by-${stop}`)).completed_count === 1) completed.push(stop);
    assert.equal(completed, ['stop', 'STOP', 'end_turn', 'End_Turn', 'end-turn', 'eos', 'EOS']);
    const all = await get();
    assert.equal([all.completed_count, all.session_count], [7, 11]);
  });

  test('total_cost: cost in USD, of the models that have a price; the others are named', async () => {
    await store(
      call(0, 'one', [user('Hello')], replied('Hi', { tokens: [1_000_000, 100_000] })), // 0.15 and 0.60 per million
      call(1, 'one', [user('Hello'), assistant('Hi'), user('More')], replied('Ok', { tokens: [2_000_000, 0] })),
      call(2, 'two', [user('Hello')], replied('Hi', { model: 'zephyr-made-up' })),
      call(3, 'three', [user('Hello')], replied('Hi', { model: 'another-made-up' })),
      call(4, 'four', [user('Hello')], replied('Hi', { model: 'silent-made-up', tokens: [0, 0] })),
    );
    const stats = await get();
    assert.is(stats.total_cost, 0.51);
    assert.equal(stats.unpriced_models, ['another-made-up', 'zephyr-made-up']);
    assert.is((await get('?model=zephyr-made-up')).total_cost, 0, 'always a number');
    assert.equal((await get('?model=gpt-4o-mini')).unpriced_models, []);
  });

  test('total_cost: folded with the configured pricing table', async () => {
    const table = parsePriceTable('{"zephyr-made-up":{"input":2,"output":10},"gpt-4o-mini":{"input":0,"output":0}}');
    const memory = callMemory({ ...builtIn, priceOf: pricesWith(table, builtIn.priceOf) });
    const tokens: Reply['tokens'] = [1_000_000, 100_000];
    const calls = ['zephyr-made-up', 'gpt-4o-mini', 'gpt-4.1', 'another-made-up'].map((model, n) =>
      call(n, model, [user('Hello')], replied('Hi', { model, tokens })),
    );
    await takeIn(database(), calls, memory);
    const { total_cost, unpriced_models } = await get();
    assert.equal([total_cost, unpriced_models], [2 + 1 + 0 + 2 + 0.8, ['another-made-up']]);
    assert.is((await get('?model=gpt-4o-mini')).total_cost, 0, 'a price of 0 is a price');
  });

  test('input_tokens: sum over all matching nodes, each token counted once', async () => {
    await store(
      call(0, 'one', [user('Hello')], replied('Hi', { tokens: [10, 5] })),
      call(1, 'one', [user('Hello'), assistant('Hi'), user('More')], replied('Ok', { tokens: [30, 7] })),
      toAnthropic(2, 'two', 'Hello', 'end_turn'),
    );
    assert.is((await get()).input_tokens, 10 + 30 + 321, 'cache reads and writes included');
    assert.is((await get('?provider=anthropic')).input_tokens, 321);
  });

  test('output_tokens: sum over all matching nodes, each token counted once', async () => {
    await store(
      call(0, 'one', [user('Hello')], replied('Hi', { tokens: [10, 5] })),
      call(1, 'one', [user('Hello'), assistant('Hi'), user('More')], replied('Ok', { tokens: [30, 7] })),
      call(2, 'one', [user('Hello'), assistant('Hi'), user('More'), assistant('Ok'), user('Bye')], null),
    );
    assert.is((await get()).output_tokens, 12, 'a repeated answer brings no tokens');
  });

  test('total_duration_ns: MAX(created_at) minus MIN(created_at) over matching nodes, in nanoseconds', async () => {
    const { opened, closed, ...rest } = call(0, 'one', [user('Hello')], replied('Hi'));
    assert.ok(closed);
    const last_byte_at = '2026-11-21T09:00:00.000003Z';
    await store({
      ...rest,
      opened: { ...opened, requested_at: '2026-11-21T08:59:58.999999Z' },
      closed: { ...closed, last_byte_at },
    });
    assert.is((await get()).total_duration_ns, 1_000_004_000);
    await store(call(86_400 * 300, 'two', [user('Hello')], null));
    assert.is((await get()).total_duration_ns, (86_400 * 300 + 1) * 1e9 + 1000);
    assert.is((await get('?until=2026-11-21T09:00:00Z')).total_duration_ns, 0, 'of a single node');
  });

  test('tool_calls: sum of tool invocations across matching nodes', async () => {
    const result = (n: number) => ({ role: 'tool', tool_call_id: `call-${n}`, content: 'seen' });
    await store(
      call(0, 'one', [user('Look')], replied('', { tools: 2, stop: 'tool_calls' })),
      call(
        1,
        'one',
        [user('Look'), assistant('', 2), result(0), result(1)],
        replied('', { tools: 1, stop: 'tool_calls' }),
      ),
    );
    assert.is((await get()).tool_calls, 3);
    assert.is((await get('?since=2026-11-21T09:00:01Z')).tool_calls, 1);
  });

  test('all numbers come from one storage aggregate: the database is asked once', async () => {
    await store(...['one', 'two', 'three'].map((session, n) => call(n, session, [user('Hello')], replied('Hi'))));
    const queries: string[] = [];
    const execute = ((name: string, args: unknown) => {
      queries.push(name);
      return (database().execute as (name: string, args: unknown) => Promise<unknown>)(name, args);
    }) as Database['execute'];
    assert.is((await testApi({ execute }).request('/v1/stats')).status, 200);
    assert.equal(queries, ['readStats']);
  });

  test('a session is counted as completed by its head alone: a prompt after the answer reopens it', async () => {
    await store(call(0, 'one', [user('Hello')], replied('Hi')), toAnthropic(1, 'two', 'Hello', 'end_turn'));
    assert.is((await get()).completed_count, 2);
    await store(call(2, 'one', [user('Hello'), assistant('Hi'), user('More')], null));
    const stats = await get();
    assert.equal([stats.completed_count, stats.session_count], [1, 2]);
    assert.is((await get('?until=2026-11-21T09:00:02Z')).completed_count, 1, 'also in a window before that prompt');
  });

  test('a prompt repeated in the history of a later call counts its tokens once', async () => {
    await store(call(0, 'one', [user('Hello')], replied('Hi')));
    const before = await get();
    await store(call(1, 'one', [user('Hello'), assistant('Hi')], null));
    const { input_tokens, output_tokens, turn_count } = await get();
    assert.equal([input_tokens, output_tokens, turn_count], [10, 5, 2]);
    assert.equal(await get(), before);
  });

  test('identical calls with identical answers are one', async () => {
    const same = (n: number) => call(n, 'one', [user('Hello')], replied('Hi'));
    await store(same(0));
    const before = await get();
    await store(same(1), same(2));
    assert.equal(await get(), before);
    await store(call(3, 'two', [user('Hello')], replied('Hi')));
    assert.is((await get()).input_tokens, 20, 'of another session they are others');
  });

  test('filters combine by AND and compare exactly', async () => {
    const by = (agent: string, project: string): Partial<CallLike> => ({
      headers: [
        ['x-svc-agent-name', agent],
        ['x-svc-project', encodeURIComponent(project)],
      ],
    });
    await store(
      call(0, 'one', [user('Hello')], replied('Hi'), by('ada', 'engine')),
      call(1, 'two', [user('Hello')], replied('Hi', { model: 'gpt-4.1' }), by('ada', 'Größe & 100%')),
      call(2, 'three', [user('Hello')], replied('Hi'), by('bob', 'engine')),
      toAnthropic(3, 'four', 'Hello', 'end_turn'),
    );
    const turns = async (query: string) => (await get(`?${query}`)).turn_count;
    assert.is(await turns('project=engine'), 4);
    assert.is(await turns(`project=${encodeURIComponent('Größe & 100%')}`), 2);
    assert.is(await turns('agent_name=ada'), 4);
    assert.is(await turns('agent_name=bot'), 2, 'the harness, where no agent is named');
    assert.is(await turns('model=gpt-4o-mini'), 4);
    assert.is(await turns('provider=anthropic'), 2);
    assert.is(await turns('project=engine&agent_name=ada'), 2);
    assert.is(
      await turns('project=engine&agent_name=ada&model=gpt-4o-mini&provider=openai&since=2026-11-21T09:00:00Z'),
      2,
    );
    for (const none of [
      'project=engine&model=gpt-4.1',
      'project=Engine',
      'agent_name=ad',
      'model=gpt-4o-min_',
      'provider=%25',
    ])
      assert.equal(await get(`?${none}`), ZEROS, none);
  });

  test('an empty parameter is an absent one', async () => {
    await store(call(0, 'one', [user('Hello')], replied('Hi')));
    const all = await get();
    assert.is(all.turn_count, 2);
    for (const query of ['?', '?project=&agent_name=&model=&provider=', '?model', '?'])
      assert.equal(await get(query), all, query);
  });

  test('since is inclusive, until exclusive, to the microsecond and in any offset', async () => {
    await store(call(0, 'one', [user('Hello')], replied('Hi')));
    const turns = async (query: string) => (await get(`?${query}`)).turn_count;
    for (const [query, count] of [
      ['since=2026-11-21T09:00:00Z', 2],
      ['since=2026-11-21T09:00:00.000000000Z', 2],
      ['since=2026-11-21T09:00:00.000000001Z', 1],
      ['since=2026-11-21T09:00:00.5z', 1],
      ['since=2026-11-21T09:00:00.500000001Z', 0],
      ['until=2026-11-21T09:00:00Z', 0],
      ['until=2026-11-21T09:00:00.000000001Z', 1],
      ['until=2026-11-21T09:00:00.500Z', 1],
      ['until=2026-11-21T09:00:00.500000001Z', 2],
      ['since=2026-11-21t14:30:00%2B05:30&until=2026-11-21T04:00:00.5-05:00', 1],
      ['since=2026-11-21T09:00:00-00:00', 2],
      ['until=2016-12-31T23:59:60Z', 0],
    ] as const)
      assert.is(await turns(query), count, query);
  });

  test('a day is its first moment in UTC, and so are today and yesterday', async () => {
    await store(call(0, 'one', [user('Hello')], replied('Hi')));
    const turns = async (query: string) => (await get(`?${query}`)).turn_count;
    for (const [query, count] of [
      ['since=2026-11-21', 2],
      ['since=2026-11-22', 0],
      ['until=2026-11-21', 0],
      ['until=2026-11-22', 2],
      ['since=2026-11-21&until=2026-11-22', 2],
    ] as const)
      assert.is(await turns(query), count, query);
    assert.is(await turns('until=today'), 2);
    assert.is(
      await turns('since=yesterday'),
      await turns(`since=${new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)}`),
    );
    const bound = boundAt(() => Date.parse('2026-03-01T00:00:00.000Z'));
    assert.equal(
      ['today', 'yesterday', '2026-11-21', '2026-11-21T02:00:00+02:00'].map((stamp) => bound.parse(stamp)),
      ['2026-03-01', '2026-02-28', '2026-11-21', '2026-11-21'].map((day) => `${day}T00:00:00.000000Z`),
    );
  });

  test('a window that holds nothing is zeros', async () => {
    assert.equal(await get(), ZEROS);
    await store(call(0, 'one', [user('Hello')], replied('Hi')));
    for (const [since, until] of [
      ['2026-11-21T09:00:00Z', '2026-11-21T09:00:00Z'],
      ['2026-11-21T10:00:00Z', '2026-11-21T08:00:00Z'],
      ['0000-01-01T00:00:00Z', '0001-01-01T00:00:00Z'],
    ])
      assert.equal(await get(`?since=${since}&until=${until}`), ZEROS, since);
  });

  test('text that nothing can be called is found nowhere', async () => {
    await store(call(0, 'one', [user('Hello')], replied('Hi', { model: 'odd\0' })));
    for (const odd of ['%00', 'odd%00', '%ED%A0%80', '%FF', '%', encodeURIComponent('x'.repeat(9000))])
      for (const name of ['project', 'agent_name', 'model', 'provider'])
        assert.equal(await get(`?${name}=${odd}`), ZEROS, `${name}=${odd.slice(0, 20)}`);
  });

  test('a deleted session does not count', async () => {
    const [one] = await store(
      call(0, 'one', [user('Hello')], replied('Hi')),
      call(1, 'two', [user('Hello')], replied('Hi')),
    );
    const count = async () => Object.values(await get()).slice(0, 4);
    assert.equal(await count(), [2, 4, 2, 2]);
    await database().sql("insert into svc.session_edits (session_id, display_name) values ($1::uuid, 'Kept')", [
      one?.session_id,
    ]);
    assert.equal(await count(), [2, 4, 2, 2]);
    await database().sql('update svc.session_edits set deleted_at = now()');
    assert.equal(await count(), [1, 2, 1, 1]);
  });

  test('a timestamp that is none is refused by name, and the database is not asked', async () => {
    const instants = [
      ...[
        '',
        'now',
        'Yesterday',
        'tomorrow',
        '2026-11-2',
        '2026-02-30',
        '20261121',
        '2026-11-21T09:00:00',
        '2026-11-21T09:00Z',
        '2026-11-21%2009:00:00Z',
        '1795251600',
      ],
      ...['2026-02-30T09:00:00Z', '2026-13-01T09:00:00Z', '2026-11-21T24:00:00Z', '2026-11-21T09:60:00Z'],
      ...['2026-11-21T09:00:61Z', '2026-11-21T09:00:00.Z', '2026-11-21T09:00:00.0000000001Z', '2026-11-21T09:00:00,5Z'],
      ...['2026-11-21T09:00:00%2B2:00', '2026-11-21T09:00:00%2B24:00', '2026-11-21T09:00:00%2B0200', 'infinity', '%00'],
      ...['2026-11-21T09:00:00+02:00', '%202026-11-21T09:00:00Z', '2026-11-21T09:00:00Z%0A', '2026-11-21T09:00:00ZZ'],
    ];
    for (const name of ['since', 'until'])
      for (const instant of instants) {
        const response = await testApi().request(`/v1/stats?${name}=${instant}`);
        assert.is(response.status, 400, instant);
        const { code, error } = Problem.parse(await response.json());
        assert.is(code, 'bad-request');
        assert.match(error, new RegExp(`^Cannot read the query: "${name}" must be an RFC 3339 timestamp`));
      }
    for (const twice of ['model=a&model=b', 'since=2026-11-21T09:00:00Z&since=2026-11-21T09:00:00Z'])
      assert.is((await testApi().request(`/v1/stats?${twice}`)).status, 400, twice);
  });

  test('turn_count and total_duration_ns are other numbers than those of sessions, and the contract says which', async () => {
    const app = await demoApi(database());
    const ask = async (path: string): Promise<Json> => (await app.request(path)).json();
    const stats = await ask('/v1/stats');
    const { items } = await ask('/v1/sessions?limit=200');
    const traces = items.reduce((sum: number, { rollup }: Json) => sum + rollup.turn_count, 0);
    assert.ok(traces > 0 && stats.turn_count > 2 * traces, `${stats.turn_count} messages of ${traces} traces`);
    const worked = (await ask('/v1/traces?limit=200')).items.reduce(
      (sum: number, { duration_ns = 0 }: Json) => sum + duration_ns,
      0,
    );
    assert.ok(stats.total_duration_ns > worked, 'what lies between sessions counts');
    const { paths, components } = readContract('0') as Json;
    const { turn_count, total_duration_ns } = components.schemas.Stats.properties;
    assert.match(turn_count.description, 'of a session counts its traces');
    assert.match(total_duration_ns.description, 'what lies between them');
    assert.match(paths['/v1/stats'].get.description, 'where that of a session is traces');
  });

  test('the contract names the parameters of the route and no more, and its example is what it promises', () => {
    const { paths, components } = readContract('0') as Json;
    const { parameters } = paths['/v1/stats'].get;
    assert.equal(
      parameters.map((parameter: Json) => [parameter.name, parameter.in, parameter.required]),
      ['project', 'agent_name', 'model', 'provider', 'since', 'until'].map((name) => [name, 'query', false]),
    );
    const { examples, required } = components.schemas.Stats;
    assert.equal(Object.keys(z.strictObject(Stats.shape).parse(examples[0])), required);
  });
});
