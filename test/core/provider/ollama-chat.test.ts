import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canonicalContent } from '../../../core/harness/canonical-content.ts';
import { Message } from '../../../core/model/bucket.ts';
import { Reply } from '../../../core/model/reply.ts';
import { Unreadable } from '../../../core/provider/format.ts';
import { ollamaChat } from '../../../core/provider/ollama-chat.ts';
import { fixtureFolder } from '../../support/fixtures.ts';
import { created_at, figures, ndjson } from '../../support/ollama-streams.ts';
import { pieces, utf8 } from '../../support/provider-streams.ts';

const test = suite('ollamaChat');

const stream = 'application/x-ndjson';
const replyTo = (body: string, contentType = stream) => ollamaChat.reply(utf8(body), contentType);
const oneShot = (document: unknown) => replyTo(JSON.stringify(document), 'application/json; charset=utf-8');
const contentOf = (raw: object, role = 'user') => ollamaChat.message({ role, ...raw }).content;
const isUnreadable = (error: unknown) => error instanceof Unreadable;

type Call = { id?: string; function: { index?: number; name: string; arguments: unknown } };
type AssistantMessage = { role: 'assistant'; content: string; thinking?: string; tool_calls?: Call[] };

const call = (name: string, input: unknown, id?: string): Call => ({
  ...(id !== undefined && { id }),
  function: { index: 0, name, arguments: input },
});

const documentOf = (message: AssistantMessage) => ({
  model: 'qwen3:8b',
  created_at,
  message,
  done_reason: 'stop',
  done: true,
  ...figures,
});

/** The lines by which Ollama streams a document: text in pieces of the given length, tool calls whole, figures at the end. */
function chunksOf({ message, ...tail }: ReturnType<typeof documentOf>, length = 7): object[] {
  const says: object[] = [
    ...pieces(message.thinking ?? '', length).map((thinking) => ({ content: '', thinking })),
    ...pieces(message.content, length).map((content) => ({ content })),
    ...(message.tool_calls ?? []).map((one) => ({ content: '', tool_calls: [one] })),
  ];
  const head = { model: tail.model, created_at };
  return [
    ...says.map((delta) => ({ ...head, message: { role: 'assistant', ...delta }, done: false })),
    { ...tail, message: { role: 'assistant', content: '' } },
  ];
}

const rich = documentOf({
  role: 'assistant',
  content: 'I will look. €',
  thinking: 'The user wants "it".\n',
  tool_calls: [
    call('read', { path: '/a', n: [1, 2] }, 'call_p7o2gz50'),
    call('now', {}),
    call('read', '{"path":"/b"}'),
    call('read', '{"p'),
  ],
});

test('every kind of block of a reply', () => {
  const reply = oneShot(rich);
  assert.equal(reply, {
    content: [
      { type: 'thinking', thinking: 'The user wants "it".\n' },
      { type: 'text', text: 'I will look. €' },
      { type: 'tool_use', tool_use_id: 'call_p7o2gz50', tool_name: 'read', tool_input: { path: '/a', n: [1, 2] } },
      { type: 'tool_use', tool_use_id: 'now', tool_name: 'now', tool_input: {} },
      { type: 'tool_use', tool_use_id: 'read', tool_name: 'read', tool_input: { path: '/b' } },
      { type: 'tool_use', tool_use_id: 'read', tool_name: 'read', tool_input: { _unparsed: '{"p' } },
    ],
    model: 'qwen3:8b',
    response_id: '',
    stop_reason: 'stop',
    usage: {
      input_tokens: 26,
      output_tokens: 290,
      cache_read_tokens: 0,
      cache_write_5m_tokens: 0,
      cache_write_1h_tokens: 0,
      reasoning_tokens: 0,
    },
    usage_verbatim: figures,
    complete: true,
    error: null,
  });
  assert.equal(Reply.parse(reply), reply);
});

test('streamed and in one piece, a reply is the same', () => {
  for (const length of [1, 7, 1000]) {
    for (const end of ['\n', '\r\n', '\n\n']) assert.equal(replyTo(ndjson(chunksOf(rich, length), end)), oneShot(rich));
  }
});

test('the bytes tell a stream from a document, whatever the content type', () => {
  const expected = oneShot(rich);
  for (const contentType of ['application/json', 'application/x-ndjson', 'text/plain', '']) {
    assert.equal(replyTo(ndjson(chunksOf(rich)), contentType), expected, contentType);
    assert.equal(replyTo(JSON.stringify(rich), contentType), expected, contentType);
    assert.equal(replyTo(`\ufeff${JSON.stringify(rich, null, 2)}\n`, contentType), expected, contentType);
  }
});

test('any reply is the same streamed, in one piece, and when it comes back as history', () => {
  const input = fc.oneof(fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }), fc.json(), fc.string());
  const anyMessage = fc.record(
    {
      role: fc.constant('assistant' as const),
      content: fc.string({ unit: 'binary' }),
      thinking: fc.string(),
      tool_calls: fc
        .array(fc.tuple(fc.constantFrom('f', 'g', ''), input, fc.option(fc.string(), { nil: undefined })), {
          maxLength: 4,
        })
        .map((calls) => calls.map(([name, args, id]) => call(name, args, id))),
    },
    { requiredKeys: ['role', 'content'] },
  );
  fc.assert(
    fc.property(anyMessage, fc.integer({ min: 1, max: 9 }), (message, length) => {
      const document = JSON.parse(JSON.stringify(documentOf(message))) as typeof rich;
      const reply = oneShot(document);
      assert.equal(replyTo(ndjson(chunksOf(document, length))), reply);
      const echoed = ollamaChat.message(document.message);
      assert.equal(echoed.content, reply.content);
      assert.is(canonicalContent(echoed), canonicalContent({ role: 'assistant', content: reply.content }));
    }),
  );
});

test('two calls of one function stay two, in a line or in lines of their own', () => {
  const calls = [
    call('weather', { city: 'Paris' }),
    call('weather', { city: 'London' }),
    call('weather', { city: 'Paris' }),
  ];
  const cities = ['Paris', 'London', 'Paris'];
  const message = { role: 'assistant', content: '', tool_calls: calls };
  for (const lines of [[message], calls.map((one) => ({ ...message, tool_calls: [one] }))]) {
    const { content } = replyTo(ndjson(lines.map((line) => ({ message: line, done: false }))));
    assert.equal(
      content.map((block) => [block.tool_use_id, block.tool_input]),
      cities.map((city) => ['weather', { city }]),
    );
  }
});

test("a result names its call by the call's id, else by the function", () => {
  const id = (raw: object) => contentOf({ content: '22°C', ...raw }, 'tool').map((block) => block.tool_result_id);
  assert.equal(id({ tool_name: 'weather' }), ['weather']);
  assert.equal(id({ name: 'weather' }), ['weather']);
  assert.equal(id({ tool_name: 'weather', tool_call_id: 'call_1' }), ['call_1']);
  assert.equal(id({}), ['']);
  const [use] = oneShot(documentOf({ role: 'assistant', content: '', tool_calls: [call('weather', {})] })).content;
  assert.equal(id({ tool_name: 'weather' }), [use?.tool_use_id]);
});

test('a stream cut at any byte says less, never more', () => {
  for (const contentType of [stream, 'application/x-ndjson; charset=utf-8', 'application/ndjson']) {
    const bytes = utf8(ndjson(chunksOf(rich), '\r\n'));
    const whole = ollamaChat.reply(bytes, contentType);
    for (let length = 0; length < bytes.length - '\r\n'.length; length++) {
      const cut = ollamaChat.reply(bytes.subarray(0, length), contentType);
      assert.equal([cut.complete, cut.error, cut.stop_reason, cut.usage], [false, null, '', null], `cut at ${length}`);
      assert.ok(cut.content.length <= whole.content.length);
      assert.equal(Reply.parse(cut), cut);
    }
    assert.ok(ollamaChat.reply(bytes.subarray(0, bytes.length - '\r\n'.length), contentType).complete);
  }
});

test('a line that is broken elsewhere than at the cut is an error, and the rest is read', () => {
  const error = { type: 'unreadable_event', message: 'Cannot read a line of the stream: it is no JSON object' };
  const chunks = ndjson(chunksOf(rich));
  for (const broken of ['{"model":"qwen3:8b","mess\n', 'upstream error\n', '[]\n']) {
    assert.equal(replyTo(broken + chunks), { ...oneShot(rich), complete: false, error });
  }
  assert.equal(replyTo(`${chunks}{"mo`), oneShot(rich), 'what is cut after the last line says nothing');
});

test('errors: a document, or a line within the stream', () => {
  const message = "model 'nope' not found";
  const expected = { type: 'error', message };
  for (const contentType of ['application/json', stream]) {
    const reply = replyTo(JSON.stringify({ error: message }), contentType);
    assert.equal([reply.error, reply.complete, reply.content, reply.usage], [expected, true, [], null]);
  }
  const midStream = replyTo(ndjson([...chunksOf(rich).slice(0, 5), { error: message }]));
  assert.equal([midStream.error, midStream.complete, midStream.content.length > 0], [expected, false, true]);
  const broken = replyTo(`{"mo\n${ndjson([...chunksOf(rich).slice(0, 5), { error: message }])}`);
  assert.equal(broken.error, expected, 'what was told says more than what was broken');
  const gateway = oneShot({ error: { type: 'rate_limited', message } });
  assert.equal(gateway.error, { type: 'rate_limited', message });
});

test('the last line says how it ended', () => {
  const ending = (tail: object) => {
    const { complete, stop_reason } = replyTo(ndjson([{ message: { content: 'a' }, done: false }, tail]));
    return [complete, stop_reason];
  };
  assert.equal(ending({ done: true, done_reason: 'length' }), [true, 'length']);
  assert.equal(ending({ done: true }), [true, 'stop']);
  assert.equal(ending({ done: false }), [false, '']);
  assert.equal(ending({ message: { content: 'b' }, done: false }), [false, '']);
});

test('usage: every token once', () => {
  const usageOf = (reported: object) => {
    const { usage, usage_verbatim } = oneShot({ message: { content: 'a' }, done: true, ...reported });
    return [usage && [usage.input_tokens, usage.output_tokens], usage_verbatim];
  };
  const both = { prompt_eval_count: 26, eval_count: 290 };
  assert.equal(usageOf(both), [[26, 290], both]);
  assert.equal(usageOf({ eval_count: 290 }), [[0, 290], { eval_count: 290 }], 'a prompt that was cached');
  assert.equal(usageOf({ prompt_eval_count: 26 }), [[26, 0], { prompt_eval_count: 26 }]);
  assert.equal(usageOf({ total_duration: 5 }), [null, { total_duration: 5 }]);
  assert.equal(usageOf({ prompt_eval_count: -1 }), [null, { prompt_eval_count: -1 }]);
  assert.equal(usageOf({ eval_count: '7', context: [1, 2] }), [null, null]);
});

const base64 = (...bytes: number[]) => Buffer.from([...bytes, ...Buffer.alloc(20)]).toString('base64');

test('images are told by their first bytes', () => {
  const png = base64(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
  const jpeg = base64(0xff, 0xd8, 0xff, 0xe0);
  const webp = base64(...Buffer.from('RIFF\x0a\x00\x00\x01WEBP', 'latin1'));
  const gif = base64(...Buffer.from('GIF89a'));
  const other = base64(0x42, 0x4d);
  const cases: [raw: string, media_type: string | undefined, image_base64: string][] = [
    [png, 'image/png', png],
    [jpeg, 'image/jpeg', jpeg],
    [webp, 'image/webp', webp],
    [gif, 'image/gif', gif],
    [other, undefined, other],
    [`data:image/png;base64,${png}`, 'image/png', png],
    [`data:image/png;base64,${jpeg}`, 'image/jpeg', jpeg],
    [`data:image/bmp;charset=x;base64,${other}`, 'image/bmp', other],
    [`data:;base64,${other}`, undefined, other],
    ['', undefined, ''],
  ];
  for (const [raw, media_type, image_base64] of cases) {
    const image = { type: 'image', ...(media_type !== undefined && { media_type }), image_base64 };
    assert.equal(
      contentOf({ content: 'see', images: [raw] }),
      [{ type: 'text', text: 'see' }, image],
      raw.slice(0, 30),
    );
  }
});

test('messages of each role', () => {
  const image = { type: 'image', image_base64: 'AAAA' };
  const cases: [raw: object, message: Message][] = [
    [
      { role: 'system', content: 'be brief' },
      { role: 'system', content: [{ type: 'text', text: 'be brief' }] },
    ],
    [
      { role: 'User', content: 'hi', images: null },
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
    ],
    [
      { role: 'user', content: '', images: ['AAAA', { odd: 1 }] },
      { role: 'user', content: [image, { type: 'image', content: { odd: 1 } }] },
    ],
    [
      { role: 'assistant', content: null, tool_calls: null },
      { role: 'assistant', content: [] },
    ],
    [{ role: 'assistant' }, { role: 'assistant', content: [] }],
    [
      { role: 'tool', content: '', tool_name: 'f' },
      { role: 'tool', content: [{ type: 'tool_result', tool_result_id: 'f', tool_output: '' }] },
    ],
    [
      { role: 'tool', content: 'done', tool_name: 'f', images: ['AAAA'] },
      { role: 'tool', content: [{ type: 'tool_result', tool_result_id: 'f', tool_output: 'done', content: [image] }] },
    ],
  ];
  for (const [raw, message] of cases) assert.equal(ollamaChat.message(raw), message, JSON.stringify(raw));
});

test('what is no message is Unreadable', () => {
  const deep: unknown = JSON.parse(`${'['.repeat(10_000)}${']'.repeat(10_000)}`);
  for (const raw of [
    null,
    'hi',
    [],
    {},
    { role: 'model', content: '' },
    { role: 'constructor', content: '' },
    { role: 'user', content: 7 },
    { role: 'user', content: [{ type: 'text', text: 'hi' }] },
    { role: 'user', content: '', images: deep },
    { role: 'assistant', tool_calls: [call('f', deep)] },
  ]) {
    assert.throws(() => ollamaChat.message(raw), isUnreadable);
  }
});

test('calls that are turns, under any prefix', () => {
  for (const path of ['/api/chat', '/api/chat/', '/ollama/api/chat//', 'api/chat']) {
    assert.ok(ollamaChat.matches('post', path), path);
  }
  for (const path of ['/api/chats', '/api/chat/1', '/xapi/chat', '/api/generate', '/api/tags']) {
    assert.not(ollamaChat.matches('POST', path), path);
  }
  assert.not(ollamaChat.matches('GET', '/api/chat'));
});

test('what a request asks for', () => {
  const head = (skeleton: Record<string, unknown>) =>
    ollamaChat.requestHead({ messages: [], ...skeleton }, { messages: 3, tools: 2 });
  const ids = { conversation_id: '', previous_response_id: '' };
  assert.equal(head({ model: 'm', stream: false, options: { num_predict: 100, num_ctx: 4096 } }), {
    model: 'm',
    stream: false,
    max_tokens: 100,
    tool_count: 2,
    ...ids,
  });
  assert.equal(head({}), { model: '', stream: true, max_tokens: null, tool_count: 2, ...ids });
  assert.is(head({ stream: null }).stream, true);
  for (const num_predict of [-1, -2, 0, 1.5, '7']) assert.is(head({ options: { num_predict } }).max_tokens, null);
  for (const messages of [undefined, null, 'hi', {}]) assert.throws(() => head({ messages }), isUnreadable);
  assert.equal(ollamaChat.messagesOutside({ messages: [], system: 'x' }), []);
});

test('a chat without messages loads or unloads a model', () => {
  for (const skeleton of [{ messages: [] }, { messages: null }, { model: 'm', keep_alive: 0 }]) {
    assert.ok(ollamaChat.isNoOp(skeleton, { messages: 0 }), JSON.stringify(skeleton));
  }
  assert.not(ollamaChat.isNoOp({ messages: [] }, { messages: 1 }), 'the array of a skeleton is emptied');
  assert.not(ollamaChat.isNoOp({ messages: 'hi' }, { messages: 0 }), 'no request of this format');
  const reply = oneShot({ model: 'm', message: { role: 'assistant', content: '' }, done_reason: 'load', done: true });
  assert.equal([reply.content, reply.stop_reason, reply.complete, reply.usage], [[], 'load', true, null]);
});

test('what is no answer is refused, and the message shows none of it', () => {
  const deep = `{"message":{"content":"secret","x":${'['.repeat(10_000)}${']'.repeat(10_000)}}}`;
  for (const contentType of ['application/json', stream]) {
    for (const body of ['<html>secret', '{"secret":1}', '["secret"]', '7', '{"secret\n', '{"done":"secret"}', deep]) {
      try {
        replyTo(body, contentType);
        assert.unreachable(`${contentType} ${body.slice(0, 20)}`);
      } catch (error) {
        assert.instance(error, Unreadable);
        assert.not.match((error as Unreadable).message, 'secret');
      }
    }
  }
  for (const torn of ['', '{"message":{"content":"sec']) {
    assert.throws(() => replyTo(torn, 'application/json'), isUnreadable);
  }
});

const readable = (read: () => unknown) => {
  try {
    read();
  } catch (error) {
    assert.instance(error, Unreadable);
  }
};

test('arbitrary JSON is read or Unreadable', () => {
  const word = fc.constantFrom(
    'role',
    'content',
    'thinking',
    'images',
    'tool_calls',
    'function',
    'name',
    'arguments',
    'tool_name',
    'message',
    'done',
    'done_reason',
    'error',
    'eval_count',
    'options',
    '__proto__',
  );
  const value = fc.constantFrom<unknown>('text', 'user', 'tool', 'data:;base64,', '{"a', null, 0, 7, -1, true, '');
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5 },
      value,
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(word, tie('tree'), { maxKeys: 5 }),
    ),
  }));
  fc.assert(
    fc.property(fc.array(fc.oneof(tree, fc.jsonValue()), { maxLength: 4 }), fc.nat(400), (jsons, cut) => {
      for (const json of jsons) {
        readable(() => Message.parse(ollamaChat.message(json)));
        for (const role of ['user', 'tool', 'assistant']) {
          readable(() =>
            canonicalContent(
              ollamaChat.message({
                role,
                content: '',
                thinking: json,
                images: json,
                tool_calls: json,
                tool_name: json,
              }),
            ),
          );
          readable(() => ollamaChat.message({ role, content: json, images: [json], tool_calls: [json] }));
        }
        readable(() => Reply.parse(oneShot(json)));
        readable(() =>
          Reply.parse(oneShot({ message: json, done: json, done_reason: json, eval_count: json, error: json })),
        );
        const skeleton = { messages: json, options: json, stream: json, model: json };
        readable(() => ollamaChat.requestHead(skeleton, { messages: 1, tools: 0 }));
        ollamaChat.isNoOp(skeleton, { messages: 0 });
      }
      const body = ndjson([...jsons, ...jsons.map((message) => ({ message, done: message }))]);
      for (const contentType of [stream, 'application/json']) {
        readable(() => Reply.parse(replyTo(body, contentType)));
        readable(() => Reply.parse(replyTo(body.slice(0, cut), contentType)));
      }
    }),
    { numRuns: 1000 },
  );
});

const clients = fixtureFolder('clients');
if (clients) {
  test('sdks-004: what a real client sent and was answered', () => {
    const { method, url, body, response } = JSON.parse(readFileSync(join(clients, 'sdks-004.json'), 'utf8')) as {
      method: string;
      url: string;
      body: { messages: unknown[] };
      response: { body: string; contentType: string };
    };
    assert.ok(ollamaChat.matches(method, url));
    assert.equal(body.messages.map(ollamaChat.message), [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }]);
    const head = ollamaChat.requestHead({ ...body, messages: [] }, { messages: 1, tools: 0 });
    assert.equal([head.model, head.stream], ['m', true]);
    const reply = replyTo(response.body, response.contentType);
    assert.equal(reply.content, [{ type: 'text', text: 'Hello there.' }]);
    assert.equal(
      [reply.complete, reply.model, reply.stop_reason, reply.usage?.input_tokens, reply.usage?.output_tokens],
      [true, 'm', 'stop', 9, 6],
    );
    assert.equal(reply.usage_verbatim, { total_duration: 1_000_000_000, prompt_eval_count: 9, eval_count: 6 });
  });
}

test.run();
