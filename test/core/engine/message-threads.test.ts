/** Anthropic's message threads: a request that continues one has only what is new, and its session and its prompt have the rest. */
import * as assert from 'uvu/assert';
import { builtIn } from '../../../core/call/reader.ts';
import type { JournalCall } from '../../../core/capture/journal-format.ts';
import { openCheckedSlices } from '../../../core/engine/verify/checked-slices.ts';
import { verifySession } from '../../../core/engine/verify/verify-session.ts';
import { SessionCache } from '../../../core/model/cache-break.ts';
import { CallContext } from '../../../core/model/call-context.ts';
import { capturedCall, takeIn } from '../../support/captured-calls.ts';
import { databaseSuite } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { namedEvents } from '../../support/provider-streams.ts';
import { testApi } from '../../support/read-api.ts';

type Usage = { input_tokens: number; cache_creation_input_tokens?: number; cache_read_input_tokens?: number };
type ThreadCall = {
  n: number;
  messages: unknown[];
  says?: object[];
  after?: number | null; // null: a request with all of the history, which begins a thread
  usage?: Usage;
  headers?: [string, string][];
  stream?: boolean;
  client?: string;
  error?: object;
};

const mark = { cache_control: { type: 'ephemeral' } };
const text = (words: string, marked = false) => ({ type: 'text', text: words, ...(marked && mark) });
const user = (...content: object[]) => ({ role: 'user', content });
const assistant = (...content: object[]) => ({ role: 'assistant', content });
const weather = { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Oslo' } };
const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: '7 C' };
const FIXED = {
  system: [text('Be brief', true)],
  tools: [{ name: 'weather', description: 'Of a city', input_schema: {} }],
};

/** The first request has tools and a system prompt; those that continue it are refused with any. */
function threadCall({
  n,
  messages,
  says = [text(`Answer ${n}`)],
  after = n - 1 || null,
  ...rest
}: ThreadCall): JournalCall {
  const { usage = { input_tokens: 10 }, stream = false, error, headers = [], client = 'one' } = rest;
  const thread = after === null ? { type: 'create' } : { type: 'continue', previous_message_id: `msg_${after}` };
  const head = { id: `msg_${n}`, type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content: [] };
  const end = { stop_reason: says.includes(weather) ? 'tool_use' : 'end_turn' };
  const whole = { ...head, content: says, ...end, usage: { ...usage, output_tokens: 5 } };
  const events = [
    { type: 'message_start', message: { ...head, usage } },
    ...says.map((content_block, index) => ({ type: 'content_block_start', index, content_block })),
    { type: 'message_delta', delta: end, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ];
  const request = { model: 'claude-sonnet-4-5', max_tokens: 50, ...(after === null && FIXED), messages, thread };
  return capturedCall({
    ...{ n, client, headers, format: 'anthropic.messages', request: { ...request, ...(stream && { stream }) } },
    ...(stream && { responseHeaders: [['content-type', 'text/event-stream']] }),
    ...(error && { status: 404 }),
    response: error ? JSON.stringify({ type: 'error', error }) : stream ? namedEvents(events) : JSON.stringify(whole),
  });
}

/** A question that is answered after a tool ran, and one more. */
const conversation = (rest: Partial<ThreadCall> = {}): JournalCall[] => [
  threadCall({ n: 1, messages: [user(text('How is Oslo?'))], says: [text('Let me look'), weather], ...rest }),
  threadCall({ n: 2, messages: [user(result)], says: [text('Cold')], ...rest }),
  threadCall({ n: 3, messages: [user(text('Thank you'))], ...rest }),
];

databaseSuite('message threads', (test, database) => {
  test.before.each(() => database().reset());

  async function read(path: string): Promise<unknown> {
    const response = await testApi({ execute: database().execute }).request(path);
    assert.is(response.status, 200, path);
    return response.json();
  }
  const prompts = async () =>
    (await database().sql('select user_prompt from svc.traces order by started_at')).map((row) => row.user_prompt);
  const sessions = () => database().sql('select session_id from svc.sessions where not is_empty order by started_at');
  const ids = async () =>
    (await database().sql('select raw_turn_id from svc.raw_turns order by requested_at')).map((row) => row.raw_turn_id);
  const contextOf = async (id: unknown) => CallContext.parse(await read(`/v1/raw_turns/${id}/context`));
  const shape = ({ blocks }: CallContext) =>
    blocks.map(({ section, kind, path, label }) => `${section} ${kind} ${path} ${label}`);

  const NAMED: [string, string][] = [
    ['x-svc-harness-id', 'mine'],
    ['x-svc-harness-session-id', 'chain'],
  ];
  for (const stream of [false, true]) {
    for (const headers of [[], NAMED] as [string, string][][]) {
      const how = `${headers.length > 0 ? 'named' : 'unnamed'}, ${stream ? 'streamed' : 'in one piece'}`;
      test(`a thread is one session with one chain of messages: ${how}`, async () => {
        for (const call of conversation({ stream, headers })) await takeIn(database(), [call]);
        await deriveAll(database());
        assert.is((await sessions()).length, 1);
        assert.equal(await prompts(), ['How is Oslo?', 'Thank you'], 'the result of a tool opens no trace');
        const nodes = await database().sql('select depth, role from svc.nodes order by depth');
        assert.equal(
          nodes.map(({ depth, role }) => `${depth} ${role}`),
          ['0 user', '1 assistant', '2 user', '3 assistant', '4 user', '5 assistant'],
        );
        const tools = await database().sql("select status from svc.spans where kind = 'tool'");
        assert.equal(tools, [{ status: 'ok' }], 'the result is joined to its call');
      });

      test(`a prompt holds what the provider held, its tools and system prompt too: ${how}`, async () => {
        await takeIn(database(), conversation({ stream, headers }));
        await deriveAll(database());
        const [first, , third] = await Promise.all((await ids()).map(contextOf));
        assert.ok(first && third);
        assert.equal([first.reach, third.reach], ['whole', 'whole']);
        assert.equal(shape(third), [
          'tools held  weather',
          'system held  Be brief',
          'messages held  How is Oslo?',
          'messages held  Let me look',
          'messages held  weather',
          'messages held  7 C',
          'messages held  Cold',
          'messages user messages[0].content[0] Thank you',
        ]);
        assert.is(third.against?.common, 6);
        const same = (context: CallContext) => context.blocks.slice(0, 3).map(({ id }) => id);
        assert.equal(same(third), same(first));
      });
    }
  }

  test('of a thread whose beginning is not recorded there is the tail', async () => {
    await takeIn(database(), [threadCall({ n: 2, messages: [user(text('And then?'))] })]);
    await deriveAll(database());
    const [only] = await ids();
    assert.is((await contextOf(only)).reach, 'tail');
  });

  test('a thread that the provider has lost goes on in its session, with all of its history', async () => {
    const lost = [
      ...conversation(),
      threadCall({ n: 4, messages: [user(text('Still there?'))], error: { type: 'not_found_error', message: 'gone' } }),
      threadCall({
        n: 5,
        after: null,
        messages: [
          ...[
            user(text('How is Oslo?')),
            assistant(text('Let me look'), weather),
            user(result),
            assistant(text('Cold')),
          ],
          ...[user(text('Thank you')), assistant(text('Answer 3')), user(text('Still there?'))],
        ],
      }),
      threadCall({ n: 6, after: 5, messages: [user(text('Good'))] }),
    ];
    for (const batches of [lost.map((call) => [call]), [lost]]) {
      await database().reset();
      for (const batch of batches) await takeIn(database(), batch);
      await deriveAll(database());
      assert.is((await sessions()).length, 1, `${batches.length} batches`);
      assert.equal(await prompts(), ['How is Oslo?', 'Thank you', 'Still there?', 'Good']);
    }
  });

  test('the answer may come after the call that continues it; what is stored verifies', async () => {
    for (const call of conversation().reverse()) await takeIn(database(), [call]);
    await deriveAll(database());
    assert.is((await sessions()).length, 1);
    assert.equal(await prompts(), ['How is Oslo?', 'Thank you']);
    const verifier = { database: database(), reader: builtIn, slices: openCheckedSlices(database()) };
    for (const { session_id } of await database().sql('select session_id from svc.sessions'))
      assert.equal((await verifySession(verifier, String(session_id), null))?.first_breaks, []);
  });

  test('another client with a thread of its own keeps its session, though the ids are the same', async () => {
    const both = [conversation(), conversation({ client: 'two' })];
    for (const [one, other] of (both[0] ?? []).map((call, n) => [call, both[1]?.[n]])) {
      assert.ok(one && other);
      other.opened.svc_proxy_request_id = other.opened.svc_proxy_request_id.replace(/^0198c0de/, '0198c0df');
      await takeIn(database(), [one, other]);
    }
    await deriveAll(database());
    assert.is((await sessions()).length, 2);
  });

  test('a continuing call that does not read what the thread has cached breaks the cache', async () => {
    const rules = text(`Be brief. ${'rule '.repeat(12_000)}`, true);
    const cached = { input_tokens: 20, cache_read_input_tokens: 12_000 };
    await takeIn(database(), [
      threadCall({ n: 1, messages: [user(rules)], usage: { input_tokens: 10, cache_creation_input_tokens: 12_000 } }),
      threadCall({ n: 2, messages: [user(text('Two'))], usage: cached }),
      threadCall({ n: 3, messages: [user(text('Three'))], usage: { input_tokens: 12_040 } }),
    ]);
    await deriveAll(database());
    const [session] = await database().sql('select session_id from svc.sessions');
    const { breaks } = SessionCache.parse(await read(`/v1/sessions/${session?.session_id}/cache`));
    assert.equal(
      breaks.map(({ cause, expected_tokens, read_tokens }) => [cause, expected_tokens, read_tokens]),
      [['unexplained', 12_000, 0]],
    );
  });
});
