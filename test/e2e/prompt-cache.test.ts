/** Planted breaks of the prompt cache, and healthy calls between them, through a real proxy: each is named with its place and its cost. */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { BreaksPage, type CacheBreak, SessionCache } from '../../core/model/cache-break.ts';
import { eventually } from '../support/eventually.ts';
import { emptyFolder, removeFolder, type Service, startService } from '../support/serve.ts';
import { type ScriptedUpstream, send, startUpstream } from '../support/upstream.ts';

const test = suite('the prompt cache, as calls break it');

type Tokens = [read: number, written: number, fresh?: number];
type Request = { model: string; system: unknown[]; tools: unknown[]; messages: unknown[] } & Record<string, unknown>;
type Step = { request: Request; usage: Tokens; at?: string };

const words = (n: number, word: string) => `${word} `.repeat(n).trim(); // about a token each
const mark = { cache_control: { type: 'ephemeral' } };
const tool = (name: string, description: string) => ({
  name,
  description: `${description} ${words(3_000, 'thing')}`,
  input_schema: { type: 'object', properties: {} },
});
const TOOLS = [tool('Read', 'Reads.'), tool('Bash', 'Runs. Today is Fri Nov 20.'), tool('Edit', 'Edits.')];
const SYSTEM = [{ type: 'text', text: `You are an agent. ${words(4_000, 'rule')}`, ...mark }];
const message = (n: number, marked = false) => ({
  role: n % 2 === 0 ? 'user' : 'assistant',
  content: [{ type: 'text', text: `Message ${n}. ${words(5_000, 'point')}`, ...(marked ? mark : {}) }],
});
const conversation = (length: number) => Array.from({ length }, (_, n) => message(n, n === length - 1));
const base = (length: number, rest: Partial<Request> = {}): Request => ({
  ...{ model: 'claude-sonnet-4-5', max_tokens: 100, system: SYSTEM, tools: TOOLS, messages: conversation(length) },
  ...rest,
});
const HELD = 18_000; // of the first call
const begin: Step = { request: base(1), usage: [0, HELD] };
const then = (request: Request, ...usage: Tokens): Step[] => [begin, { request, usage }];

const CASES: Record<string, Step[]> = {
  tools: then(base(3, { tools: TOOLS.with(1, tool('Bash', 'Runs. Today is Sat Nov 21.')) }), 0, 28_000),
  system: then(
    base(3, { system: [{ type: 'text', text: `You are an actor. ${words(4_000, 'rule')}`, ...mark }] }),
    0,
    28_000,
  ),
  parameters: then(base(3, { thinking: { type: 'enabled', budget_tokens: 1_024 } }), 12_000, 16_000),
  model: then(base(3, { model: 'claude-opus-4-1' }), 0, 28_000),
  history: [
    { request: base(3), usage: [0, 28_000] },
    {
      request: base(5, {
        messages: [
          { ...message(0), content: [{ type: 'text', text: `Message 0! ${words(5_000, 'point')}` }] },
          ...conversation(5).slice(1),
        ],
      }),
      usage: [12_000, 28_000],
    },
  ],
  mark: then(
    base(3, {
      system: [{ type: 'text', text: (SYSTEM[0] as { text: string }).text }],
      messages: [0, 1, 2].map((n) => message(n)),
    }),
    0,
    0,
    28_000,
  ),
  small: [1, 3].map((length) => ({
    request: base(length, {
      model: 'claude-haiku-4-5',
      tools: [],
      system: [],
      messages: conversation(length).map((one) => ({
        ...one,
        content: [{ type: 'text', text: words(1_300, 'a word'), ...(one.content[0]?.cache_control ? mark : {}) }],
      })),
    }),
    usage: [0, 0, length * 1_300 + 1_000] as Tokens,
  })),
  expired: [
    { ...begin, at: '2026-07-27T09:00:00Z' },
    { request: base(3), usage: [0, 28_000], at: '2026-07-27T09:07:12Z' },
  ],
  unexplained: then(base(3), 0, 28_000),
};
const HEALTHY: Record<string, Step[]> = {
  growing: then(base(3), HELD, 10_000),
  'large new input': then(base(3), HELD, 90_000),
  'dropped at its end': [
    begin,
    { request: base(3), usage: [HELD, 10_000] },
    {
      request: base(1, { messages: [...conversation(1), { role: 'assistant', content: 'No' }] }),
      usage: [HELD, 0, 10],
    },
  ],
};

let upstream: ScriptedUpstream;
let service: Service;
let folder: string;
const sessions = new Map<string, string>();

const answerOf = ([read, written, fresh = 10]: Tokens, model: string) =>
  JSON.stringify({
    ...{ id: `msg_${randomUUID()}`, type: 'message', role: 'assistant', model, stop_reason: 'end_turn' },
    content: [{ type: 'text', text: 'Yes' }],
    usage: {
      input_tokens: fresh,
      cache_read_input_tokens: read,
      cache_creation_input_tokens: written,
      output_tokens: 5,
    },
  });

async function play(name: string, steps: readonly Step[]): Promise<void> {
  const harness_session_id = randomUUID();
  for (const { request, usage, at } of steps) {
    if (at) {
      const turn = {
        ...{ provider: 'anthropic', request, session: { harness_id: 'claude', harness_session_id } },
        raw_response: Buffer.from(answerOf(usage, request.model)).toString('base64'),
        meta: {
          request_id: randomUUID(),
          method: 'POST',
          path: '/v1/messages',
          content_type: 'application/json',
          upstream_status: 200,
          ts_request: at,
          captured_at: at,
        },
      };
      const stored = await fetch(`${service.ingest}/v1/ingest`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(turn),
      });
      assert.is(stored.status, 202, await stored.text());
      continue;
    }
    const headers = {
      ...{ 'content-type': 'application/json', 'x-api-key': 'sk-ant-test', 'anthropic-version': '2023-06-01' },
      ...{ 'user-agent': 'claude-cli/2.1.197 (external, cli)', 'x-claude-code-session-id': harness_session_id },
      'x-test-usage': JSON.stringify(usage),
    };
    const response = await fetch(`${service.proxy}/anthropic/v1/messages`, {
      method: 'POST',
      headers,
      body: JSON.stringify(request),
    });
    assert.is(response.status, 200, await response.text());
  }
  sessions.set(name, harness_session_id);
}

const read = async (path: string) => {
  const response = await fetch(`${service.api}${path}`);
  const body = await response.json();
  assert.is(response.status, 200, `${path}: ${JSON.stringify(body)}`);
  return body;
};

type Listed = { id: string; harness_session_id: string; rollup?: { call_count?: number } };
const idOf = async (name: string): Promise<string> => {
  const { items } = (await read('/v1/sessions?limit=200')) as { items: Listed[] };
  return items.find(({ harness_session_id }) => harness_session_id === sessions.get(name))?.id ?? '';
};
const cacheOf = async (name: string) => SessionCache.parse(await read(`/v1/sessions/${await idOf(name)}/cache`));

test.before(async () => {
  upstream = await startUpstream(() => async (request, outgoing) => {
    await request.whole;
    const usage = JSON.parse(String(request.headers['x-test-usage'])) as Tokens;
    const { model } = JSON.parse(request.body.toString()) as Request;
    send(outgoing, { body: answerOf(usage, model) });
  });
  folder = await emptyFolder();
  service = await startService(folder, { SVC_PROXY_UPSTREAMS_ANTHROPIC: upstream.url });
  for (const [name, steps] of Object.entries({ ...CASES, ...HEALTHY })) await play(name, steps);
  const calls = Object.values({ ...CASES, ...HEALTHY }).flat().length;
  await eventually(async () => {
    const { items } = (await read('/v1/sessions?limit=200')) as { items: { id: string }[] };
    const caches = await Promise.all(
      items.map(async ({ id }) => SessionCache.parse(await read(`/v1/sessions/${id}/cache`))),
    );
    const tokens = caches.reduce(
      (sum, { read_tokens, write_tokens, fresh_tokens }) => sum + read_tokens + write_tokens + fresh_tokens,
      0,
    );
    const sent = Object.values({ ...CASES, ...HEALTHY })
      .flat()
      .reduce((sum, { usage: [read, written, fresh = 10] }) => sum + read + written + fresh, 0);
    return tokens === sent && calls > 0;
  });
});

test.after(async () => {
  await service?.stop();
  await upstream?.close();
  await removeFolder(folder);
});

const near = (actual: number | null, expected: number) =>
  assert.ok(actual !== null && Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`);

const WHERE: Record<string, [block: number, path: string, char: number | null] | null> = {
  tools: [1, 'tools[1].description', 'Runs. Today is '.length],
  system: [3, 'system[0].text', 'You are an a'.length],
  parameters: [4, 'thinking', null],
  model: null,
  history: [4, 'messages[0].content[0].text', 'Message 0'.length],
  mark: [4, 'messages[0].content[0]', null],
  small: [0, 'messages[0].content[0]', null],
  expired: null,
  unexplained: null,
};

for (const [name] of Object.entries(CASES))
  test(`${name}: named, with its place and its cost`, async () => {
    const { breaks, lost_usd, verdict } = await cacheOf(name);
    assert.is(verdict, 'judged');
    assert.is(breaks.length, 1);
    const [found] = breaks as [CacheBreak];
    assert.is(found.cause, name);
    const { where } = found;
    assert.equal(where && [where.block, where.path, where.char], WHERE[name]);
    assert.is(found.rewritten_tokens, found.expected_tokens - found.read_tokens);
    const [, dearer, plain] = name === 'model' ? [0, 18.75 - 1.5, 0] : [0, 3.75 - 0.3, 3 - 0.3];
    const rate = name === 'mark' ? plain : name === 'small' ? 1 - 0.1 : dearer;
    near(found.lost_usd, (found.rewritten_tokens * rate) / 1e6);
    near(lost_usd, found.planned ? 0 : (found.lost_usd ?? 0));
    assert.is(found.planned, name === 'model');
    if (['model', 'mark', 'expired', 'unexplained', 'parameters'].includes(name))
      assert.is(found.expected_tokens, HELD);
    assert.ok(found.span_id && found.trace_id && found.advice);
  });

test('what was and what is, around the character', async () => {
  const [found] = (await cacheOf('tools')).breaks;
  assert.match(found?.was ?? '', 'Today is Fri Nov 20.');
  assert.match(found?.is ?? '', 'Today is Sat Nov 21.');
});

for (const name of Object.keys(HEALTHY))
  test(`healthy: ${name}`, async () => assert.equal((await cacheOf(name)).breaks, []));

test('the breaks of all sessions, and none of a deleted one', async () => {
  const page = async (query = '') => BreaksPage.parse(await read(`/v1/cache/breaks${query}`));
  await eventually(async () => (await page()).sessions_waiting === 0, 60_000);
  const all = await page();
  const expected = Object.keys(CASES)
    .filter((name) => name !== 'model')
    .sort();
  assert.equal(all.items.map(({ cause }) => cause as string).sort(), expected);
  assert.equal(all.groups.map(({ key }) => key).sort(), expected);
  assert.is(all.sessions, Object.keys(CASES).length + Object.keys(HEALTHY).length);
  const harness = await page('?by=harness&limit=2');
  assert.ok(harness.groups.every(({ key }) => key.startsWith('claude')));
  assert.is(harness.items.length, 2);
  const second = await page(`?by=harness&limit=200&cursor=${harness.next_cursor}`);
  assert.is(second.items.length, expected.length - 2);
  assert.equal(
    (await page('?model=claude-haiku-4-5')).items.map(({ cause }) => cause),
    ['small'],
  );
  assert.equal(
    (await page('?until=2026-07-28')).items.map(({ cause }) => cause),
    ['expired'],
  );
  const gone = await fetch(`${service.api}/v1/sessions/${await idOf('tools')}`, { method: 'DELETE' });
  assert.ok(gone.ok);
  assert.not.ok((await page()).items.some(({ cause }) => cause === 'tools'));
  assert.match(await (await fetch(`${service.api}/metrics`)).text(), /^svc_cache_contradictions_total(\{.*\})? 0$/m);
});

test.run();
