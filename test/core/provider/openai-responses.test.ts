import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canonicalContent } from '../../../core/harness/canonical-content.ts';
import type { ContentBlock } from '../../../core/model/content-block.ts';
import { Reply } from '../../../core/model/reply.ts';
import { Unreadable } from '../../../core/provider/format.ts';
import { openaiResponses } from '../../../core/provider/openai-responses.ts';
import { fixtureFolder } from '../../support/fixtures.ts';
import {
  isUnreadable,
  oneShot,
  outputMessage,
  replyTo,
  response,
  responseUsage,
  richResponse,
  saysNoMore,
  sse,
} from '../../support/responses.ts';

const test = suite('openaiResponses');

const zero = {
  input_tokens: 0,
  output_tokens: 0,
  cache_read_tokens: 0,
  cache_write_5m_tokens: 0,
  cache_write_1h_tokens: 0,
  reasoning_tokens: 0,
};
const searched = {
  type: 'server_tool_use',
  tool_use_id: 'web_search_call_6ff6a29cc3079bd6',
  tool_name: 'web_search',
  tool_input: { type: 'search', query: 'x' },
};

test('every part of a reply', () => {
  const reply = oneShot(richResponse);
  assert.equal(reply, {
    content: [
      { type: 'thinking', thinking: 'Let me look. €\nTwice.', thinking_signature: 'gAAA' },
      searched,
      { type: 'web_search_tool_result', tool_result_id: searched.tool_use_id },
      { type: 'text', text: 'Looking it up: "naïve"\n' },
      { type: 'refusal', text: 'Not that.' },
      { type: 'tool_use', tool_use_id: 'call_1', tool_name: 'now', tool_input: {} },
      { type: 'tool_use', tool_use_id: 'call_2', tool_name: 'spawn_agent', tool_input: { path: '/a', n: [1, 2] } },
      { type: 'tool_use', tool_use_id: 'call_3', tool_name: 'exec', tool_input: '*** Begin Patch\n' },
    ],
    model: 'gpt-5.6',
    response_id: 'resp_1',
    stop_reason: 'tool_calls',
    usage: {
      input_tokens: 1000,
      output_tokens: 50,
      cache_read_tokens: 900,
      cache_write_5m_tokens: 60,
      cache_write_1h_tokens: 0,
      reasoning_tokens: 20,
    },
    usage_verbatim: responseUsage,
    complete: true,
    error: null,
  });
  assert.equal(Reply.parse(reply), reply);
});

test('how a response ended', () => {
  const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
  const cases: [rest: object, stop_reason: string, complete: boolean][] = [
    [{ output: [outputMessage('a')] }, 'stop', true],
    [{ output: [outputMessage('a'), call] }, 'tool_calls', true],
    [{ output: [{ type: 'custom_tool_call', call_id: 'c', name: 'f', input: '' }] }, 'tool_calls', true],
    [{ output: [call, { type: 'function_call_output', call_id: 'c', output: '' }] }, 'stop', true],
    [{ output: [{ type: 'web_search_call', action: {} }] }, 'stop', true],
    [{ output: [{ type: 'mcp_approval_request', id: 'm', name: 'f', arguments: '' }] }, 'tool_calls', true],
    [{ status: 'incomplete', incomplete_details: { reason: 'content_filter' } }, 'content_filter', true],
    [{ status: 'incomplete' }, 'incomplete', true],
    [{ status: 'cancelled' }, 'cancelled', true],
    [{ status: 'failed', error: { code: 'server_error', message: 'm' } }, 'failed', true],
    [{ status: 'queued', usage: null }, 'queued', false],
    [{ status: 'in_progress', usage: null }, 'in_progress', false],
  ];
  for (const [rest, stop_reason, complete] of cases) {
    const reply = oneShot(response(rest));
    assert.equal([reply.stop_reason, reply.complete], [stop_reason, complete], JSON.stringify(rest));
  }
});

test('errors instead of an answer', () => {
  const shapes: [document: unknown, type: string, message: string][] = [
    [{ error: { message: 'm', type: 'invalid_request_error', code: 'c' } }, 'invalid_request_error', 'm'],
    [{ error: { message: 'm', type: null, code: 'invalid_api_key' } }, 'invalid_api_key', 'm'],
    [{ error: 'model not found' }, 'error', 'model not found'],
    [{ detail: 'Unsupported parameter' }, 'error', 'Unsupported parameter'],
  ];
  for (const contentType of ['application/json', sse]) {
    for (const [document, type, message] of shapes) {
      const reply = replyTo(JSON.stringify(document), contentType);
      assert.equal([reply.error, reply.complete, reply.content, reply.usage], [{ type, message }, true, [], null]);
    }
  }
});

test('usage: every token once', () => {
  const cases: [reported: unknown, usage: unknown][] = [
    [
      { input_tokens: 9, output_tokens: 6 },
      { ...zero, input_tokens: 9, output_tokens: 6 },
    ],
    [
      { input_tokens: 9, output_tokens: 6, input_tokens_details: { cached_tokens: 50 } },
      { ...zero, input_tokens: 9, output_tokens: 6, cache_read_tokens: 9 },
    ],
    [
      { input_tokens: 9, output_tokens: 6, output_tokens_details: { reasoning_tokens: 50 } },
      { ...zero, input_tokens: 9, output_tokens: 6, reasoning_tokens: 6 },
    ],
    [
      { input_tokens: 9, output_tokens: -1, input_tokens_details: { cached_tokens: 4, cache_write_tokens: 9 } },
      { ...zero, input_tokens: 9, cache_read_tokens: 4, cache_write_5m_tokens: 5 },
    ],
    [{}, null],
    [null, null],
  ];
  for (const [reported, expected] of cases)
    assert.equal(oneShot(response({ usage: reported })).usage, expected, JSON.stringify(reported));
});

test('the calls that are turns', () => {
  const turns = ['/v1/responses', '/v1/responses/', '/responses//', '/codex/responses', '/gw/openai/v1/responses'];
  for (const path of turns) assert.ok(openaiResponses.matches('post', path), path);
  const others = [
    '/v1/responses/resp_1',
    '/v1/responses/resp_1/cancel',
    '/v1/responses/resp_1/input_items',
    '/v1/responses/compact',
    '/v1/responses/input_tokens',
    '/v1/my-responses',
    '/v1/chat/completions',
  ];
  for (const path of others) assert.not(openaiResponses.matches('POST', path), path);
  assert.not(openaiResponses.matches('GET', '/v1/responses'));
});

test('what a request asks for', () => {
  const head = (skeleton: Record<string, unknown>) => openaiResponses.requestHead(skeleton, { messages: 3, tools: 2 });
  const plain = {
    model: '',
    stream: false,
    max_tokens: null,
    tool_count: 2,
    conversation_id: '',
    previous_response_id: '',
  };
  assert.equal(head({ input: [], model: 'm', stream: true, max_output_tokens: 10 }), {
    ...plain,
    model: 'm',
    stream: true,
    max_tokens: 10,
  });
  assert.equal(head({ input: 'hi', stream: 'yes', max_output_tokens: 1e12 }), plain);
  assert.equal(head({ input: 'hi', conversation: 'conv_1' }), { ...plain, conversation_id: 'conv_1' });
  assert.equal(head({ conversation: { id: 'conv_1' } }), { ...plain, conversation_id: 'conv_1' });
  assert.equal(head({ previous_response_id: 'resp_1' }), { ...plain, previous_response_id: 'resp_1' });
  assert.equal(head({ prompt: { id: 'pmpt_1' } }), plain);
  for (const foreign of [{}, { input: null }, { input: {} }, { messages: [] }, { messages: [], conversation: 'c' }]) {
    assert.throws(() => head(foreign), isUnreadable);
  }
});

test('a plain input is a message of the user, instructions are none', () => {
  const outside = (skeleton: Record<string, unknown>) => openaiResponses.messagesOutside(skeleton);
  assert.equal(outside({ input: 'hi', instructions: 'You are' }), [
    { role: 'user', content: [{ type: 'text', text: 'hi' }] },
  ]);
  assert.equal(outside({ input: [], instructions: 'You are' }), []);
  assert.equal(outside({ previous_response_id: 'resp_1' }), []);
});

test('what is no answer is refused, and the message shows none of it', () => {
  const refused: [body: string, contentType: string][] = [
    ['', 'application/json'],
    ['<html>secret</html>', 'text/html'],
    ['{"secret":1}', 'application/json'],
    ['{"object":"response.compaction","output":[],"id":"secret"}', 'application/json'],
    ['{"secret', 'application/json'],
    ['["secret"]', 'application/json'],
    ['\u001f\u008b secret', sse],
    ['{"object":"response","output":["secret"]}', 'application/json'],
  ];
  for (const [body, contentType] of refused) {
    try {
      replyTo(body, contentType);
      assert.unreachable(body);
    } catch (error) {
      assert.instance(error, Unreadable);
      assert.not.match((error as Unreadable).message, 'secret');
    }
  }
  const empty = replyTo('', sse);
  assert.equal([empty.content, empty.complete, empty.error], [[], false, null]);
});

test('what is nested too deep is unreadable, and no overflow of the stack', () => {
  const deep = `${'['.repeat(10_000)}${']'.repeat(10_000)}`;
  const item = `{"type":"future","some":${deep}}`;
  assert.throws(() => openaiResponses.message(JSON.parse(item)), isUnreadable);
  assert.throws(() => replyTo(`{"object":"response","output":[${item}]}`, 'application/json'), isUnreadable);
  const event = `data: {"type":"response.output_item.done","output_index":0,"item":${item}}\n\n`;
  assert.is(replyTo(`${event}data: {"type":"response.created"}\n\n`).error?.type, 'unreadable_event');
  const { content } = openaiResponses.message({ type: 'function_call', call_id: 'c', name: 'f', arguments: deep });
  assert.equal(content[0]?.tool_input, { _unparsed: deep });
});

/** The assistant's neighbouring elements, each run as the one message that it is; less its thinking, which stays out of the hash. */
function answersIn(input: readonly unknown[]): ContentBlock[][] {
  const answers: ContentBlock[][] = [];
  let before = '';
  for (const element of input) {
    const { role, content } = openaiResponses.message(element);
    if (role === 'assistant' && before !== 'assistant') answers.push([]);
    if (role === 'assistant') answers.at(-1)?.push(...content);
    before = role;
  }
  return answers.map(withoutThinking);
}
const withoutThinking = (content: readonly ContentBlock[]) => content.filter(({ type }) => type !== 'thinking');

const reducers = fixtureFolder('reducers');
if (reducers) {
  const folder = join(reducers, 'openai_responses');
  const read = (name: string, contentType: string) =>
    openaiResponses.reply(readFileSync(join(folder, name)), contentType);

  test('recorded answers, streamed and in one piece', () => {
    const document = read('oneshot.json', 'application/json');
    assert.equal(document.content, [{ type: 'text', text: 'paper-codex-ok' }]);
    assert.equal(document.usage, { ...zero, input_tokens: 16, output_tokens: 6 });
    const streamed = read('stream.sse', '');
    assert.equal([streamed.complete, streamed.stop_reason, streamed.error], [true, 'stop', null]);
    const terminal = /"type":"response.completed","response":(.*),"sequence_number":\d+\}/.exec(
      readFileSync(join(folder, 'stream.sse'), 'utf8'),
    );
    assert.equal(streamed, replyTo(terminal?.[1] ?? '', 'application/json'));
  });

  test('every prefix of a recorded stream says no more than the whole', () => {
    const bytes = readFileSync(join(folder, 'stream.sse'));
    const whole = openaiResponses.reply(bytes, sse);
    for (let length = 0; length < bytes.length; length += 11) {
      const cut = openaiResponses.reply(bytes.subarray(0, length), sse);
      saysNoMore(cut.content, whole.content, `at ${length}`);
      assert.is(cut.error, null);
    }
  });
}

const clients = fixtureFolder('clients');
if (clients) {
  type Call = {
    headers: Record<string, string>;
    body: { input: string | unknown[] };
    response: { contentType: string; body: string };
  };
  const calls = readdirSync(clients)
    .filter((name) => /^codex-|^sdks-002/.test(name))
    .sort()
    .map((name): [string, Call] => [name, JSON.parse(readFileSync(join(clients, name), 'utf8')) as Call]);

  test('what real clients were answered', () => {
    assert.is(calls.length, 7);
    for (const [name, { response: answer }] of calls) {
      const reply = replyTo(answer.body, answer.contentType);
      assert.equal([reply.complete, reply.error, reply.content.length], [true, null, 1], name);
      assert.is(reply.stop_reason, reply.content[0]?.type === 'tool_use' ? 'tool_calls' : 'stop', name);
      assert.ok((reply.usage?.input_tokens ?? 0) > 0, name);
    }
  });

  test("an answer comes back in its thread's next request as the same content", () => {
    const threadOf = ([, { headers }]: [string, Call]) => headers['thread-id'];
    let compared = 0;
    for (const id of new Set(calls.map(threadOf))) {
      const thread = calls.filter((call) => threadOf(call) === id && id !== undefined);
      for (const [i, [name, { response: answer }]] of thread.slice(0, -1).entries()) {
        const input = thread[i + 1]?.[1].body.input;
        const reply = replyTo(answer.body, answer.contentType);
        assert.equal(answersIn(Array.isArray(input) ? input : []).at(-1), withoutThinking(reply.content), name);
        compared++;
      }
    }
    assert.is(compared, 3);
  });
}

const corpus = fixtureFolder('corpus');
if (corpus) {
  type Row = {
    source: string;
    raw_request: { input: Record<string, unknown>[]; client_metadata: { thread_id: string } };
    response: { message: { content: ContentBlock[] } };
  };
  const rows = gunzipSync(readFileSync(join(corpus, 'corpus-codex-delta.jsonl.gz')))
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row)
    .filter(({ source }) => source === 'wire');

  test('a recorded session of Codex with agents: each answer comes back as it was', () => {
    let compared = 0;
    for (const [i, { raw_request, response: answer }] of rows.entries()) {
      const { thread_id } = raw_request.client_metadata;
      const next = rows.slice(i + 1).find((row) => row.raw_request.client_metadata.thread_id === thread_id);
      if (!next) continue;
      const hash = (content: ContentBlock[]) =>
        canonicalContent({ role: 'assistant', content: withoutThinking(content) });
      assert.is(hash(answersIn(next.raw_request.input).at(-1) ?? []), hash(answer.message.content), `row ${i}`);
      compared++;
    }
    assert.is(compared, 10);
  });

  test('a recorded session of Codex with agents: a request begins as the one before it in its thread', () => {
    const hashes = (row: Row) => row.raw_request.input.map((item) => canonicalContent(openaiResponses.message(item)));
    for (const [i, row] of rows.entries()) {
      const { thread_id } = row.raw_request.client_metadata;
      const next = rows.slice(i + 1).find(({ raw_request }) => raw_request.client_metadata.thread_id === thread_id);
      if (next) assert.equal(hashes(next).slice(0, row.raw_request.input.length), hashes(row), `row ${i}`);
    }
  });
}

test.run();
