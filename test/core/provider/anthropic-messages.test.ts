import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { decodeBodySync } from '../../../core/capture/content-encoding.ts';
import { canonicalContent } from '../../../core/harness/canonical-content.ts';
import { nodeHash } from '../../../core/merkle/node.ts';
import { Message } from '../../../core/model/bucket.ts';
import { Reply } from '../../../core/model/reply.ts';
import { anthropicMessages } from '../../../core/provider/anthropic-messages.ts';
import { Unreadable } from '../../../core/provider/format.ts';
import { fixtureFolder } from '../../support/fixtures.ts';
import { namedEvents, pieces, utf8 } from '../../support/provider-streams.ts';

const test = suite('anthropicMessages');

const sse = 'text/event-stream; charset=utf-8';
const replyTo = (body: string, contentType = sse) => anthropicMessages.reply(utf8(body), contentType);
const oneShot = (document: unknown) => replyTo(JSON.stringify(document), 'application/json');
const contentOf = (content: unknown, role = 'user') => anthropicMessages.message({ role, content }).content;

type Document = {
  id: string;
  type: 'message';
  role: 'assistant';
  model: string;
  content: Record<string, unknown>[];
  stop_reason: string;
  usage: Record<string, unknown>;
};

/** The events by which Anthropic streams a document, text in pieces of the given length. */
function streamOf(document: Document, length = 7) {
  const blocks = document.content.flatMap((block, index) => {
    const [start, deltas] = growth(block, length);
    return [
      { type: 'content_block_start', index, content_block: start },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ];
  });
  const message = { ...document, content: [], stop_reason: null, usage: { ...document.usage, output_tokens: 1 } };
  return [
    { type: 'message_start', message },
    { type: 'ping' },
    ...blocks,
    { type: 'message_delta', delta: { stop_reason: document.stop_reason }, usage: document.usage },
    { type: 'message_stop' },
  ];
}

function growth(block: Record<string, unknown>, length: number): [start: unknown, deltas: unknown[]] {
  switch (block.type) {
    case 'text':
      return [
        { type: 'text', text: '' },
        pieces(String(block.text), length).map((text) => ({ type: 'text_delta', text })),
      ];
    case 'thinking':
      return [
        { type: 'thinking', thinking: '', signature: '' },
        [
          ...pieces(String(block.thinking), length).map((thinking) => ({ type: 'thinking_delta', thinking })),
          { type: 'signature_delta', signature: block.signature },
        ],
      ];
    case 'tool_use':
    case 'server_tool_use':
      return [
        { ...block, input: {} },
        pieces(JSON.stringify(block.input), length).map((partial_json) => ({ type: 'input_json_delta', partial_json })),
      ];
    default:
      return [block, []];
  }
}

const usage = {
  input_tokens: 3,
  cache_creation_input_tokens: 120,
  cache_read_input_tokens: 4000,
  cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 100 },
  output_tokens: 97,
  output_tokens_details: { thinking_tokens: 38 },
  service_tier: 'standard',
};

const rich: Document = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-6',
  content: [
    { type: 'thinking', thinking: 'Let me look. €', signature: 'EosC' },
    { type: 'redacted_thinking', data: 'abc' },
    { type: 'text', text: 'Looking it up: "naïve"\n', citations: [{ type: 'char_location' }] },
    { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: { query: 'x' } },
    {
      type: 'web_search_tool_result',
      tool_use_id: 'srv_1',
      content: [{ type: 'web_search_result', url: 'https://x' }],
    },
    { type: 'tool_use', id: 'toolu_1', name: 'Edit', input: { path: '/a', deep: { n: [1, 2, { off: false }] } } },
    { type: 'tool_use', id: 'toolu_2', name: 'Now', input: {} },
    { type: 'container_upload', file_id: 'file_1' },
  ],
  stop_reason: 'tool_use',
  usage,
};

test('every kind of block of a reply', () => {
  const reply = oneShot(rich);
  assert.equal(reply, {
    content: [
      { type: 'thinking', thinking: 'Let me look. €', thinking_signature: 'EosC' },
      { type: 'redacted_thinking', content: { type: 'redacted_thinking', data: 'abc' } },
      { type: 'text', text: 'Looking it up: "naïve"\n' },
      { type: 'server_tool_use', tool_use_id: 'srv_1', tool_name: 'web_search', tool_input: { query: 'x' } },
      {
        type: 'web_search_tool_result',
        tool_result_id: 'srv_1',
        content: [{ type: 'web_search_result', url: 'https://x' }],
      },
      {
        type: 'tool_use',
        tool_use_id: 'toolu_1',
        tool_name: 'Edit',
        tool_input: { path: '/a', deep: { n: [1, 2, { off: false }] } },
      },
      { type: 'tool_use', tool_use_id: 'toolu_2', tool_name: 'Now', tool_input: {} },
      { type: 'container_upload', content: { type: 'container_upload', file_id: 'file_1' } },
    ],
    model: 'claude-sonnet-4-6',
    response_id: 'msg_1',
    stop_reason: 'tool_use',
    usage: {
      input_tokens: 4123,
      output_tokens: 97,
      cache_read_tokens: 4000,
      cache_write_5m_tokens: 20,
      cache_write_1h_tokens: 100,
      reasoning_tokens: 38,
    },
    usage_verbatim: usage,
    complete: true,
    error: null,
  });
  assert.equal(Reply.parse(reply), reply);
});

test('streamed and in one piece, a reply is the same', () => {
  for (const length of [1, 7, 1000]) assert.equal(replyTo(namedEvents(streamOf(rich, length))), oneShot(rich));
});

test('any reply is the same streamed and in one piece', () => {
  const block = fc.oneof(
    fc.record({ type: fc.constant('text'), text: fc.string({ unit: 'binary' }) }),
    fc.record({ type: fc.constant('thinking'), thinking: fc.string(), signature: fc.string() }),
    fc.record({
      type: fc.constantFrom('tool_use', 'server_tool_use'),
      id: fc.string(),
      name: fc.string(),
      input: fc.dictionary(fc.string(), fc.jsonValue()),
    }),
    fc.record({ type: fc.constant('redacted_thinking'), data: fc.string() }),
    fc.record({
      type: fc.constant('bash_code_execution_tool_result'),
      tool_use_id: fc.string(),
      content: fc.jsonValue(),
    }),
  );
  fc.assert(
    fc.property(fc.array(block, { maxLength: 5 }), fc.integer({ min: 1, max: 9 }), (content, length) => {
      const document = JSON.parse(JSON.stringify({ ...rich, content })) as Document;
      const streamed = replyTo(namedEvents(streamOf(document, length)));
      assert.equal(streamed, oneShot(document));
      const hash = ({ content: blocks }: Reply) => canonicalContent({ role: 'assistant', content: blocks });
      assert.is(
        hash(streamed),
        canonicalContent(anthropicMessages.message({ role: 'assistant', content: document.content })),
      );
    }),
  );
});

test('a stream cut at any byte says less, never more, and is not complete', () => {
  const events = streamOf(rich);
  const bytes = utf8(namedEvents(events));
  const whole = anthropicMessages.reply(bytes, sse);
  const lastEvent = bytes.length - namedEvents(events.slice(-1)).length;
  for (let length = 0; length < bytes.length; length++) {
    const cut = anthropicMessages.reply(bytes.subarray(0, length), sse);
    assert.ok(!cut.complete || length > lastEvent, `complete at ${length}`);
    assert.is(cut.error, null);
    for (const key of ['input_tokens', 'output_tokens', 'cache_read_tokens', 'reasoning_tokens'] as const) {
      assert.ok((cut.usage?.[key] ?? 0) <= (whole.usage?.[key] ?? 0), `${key} at ${length}`);
    }
    assert.equal(Reply.parse(cut), cut);
  }
});

test('tool input that is cut or broken stays readable', () => {
  const events = streamOf({ ...rich, content: [{ type: 'tool_use', id: 't', name: 'Edit', input: { path: '/a' } }] });
  const reply = replyTo(namedEvents(events.slice(0, 4)));
  assert.equal(reply.content, [
    { type: 'tool_use', tool_use_id: 't', tool_name: 'Edit', tool_input: { _unparsed: '{"path"' } },
  ]);
  assert.not(reply.complete);
});

test('an error in the stream, and one instead of it', () => {
  const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
  const torn = replyTo(namedEvents([...streamOf(rich).slice(0, 6), error]));
  assert.equal(torn.error, { type: 'overloaded_error', message: 'Overloaded' });
  assert.not(torn.complete);
  assert.ok(torn.content.length > 0);
  for (const contentType of ['application/json', sse]) {
    const refused = replyTo(JSON.stringify({ ...error, request_id: 'req_1' }), contentType);
    assert.equal(refused.error, { type: 'overloaded_error', message: 'Overloaded' });
    assert.equal([refused.complete, refused.content, refused.usage], [true, [], null]);
  }
});

test('an unreadable event in the midst is told', () => {
  const [start, ...rest] = streamOf(rich);
  const reply = replyTo(`${namedEvents(start ? [start] : [])}data: {"type": oops}\n\n${namedEvents(rest)}`);
  assert.is(reply.error?.type, 'unreadable_event');
  assert.equal(reply.content, oneShot(rich).content);
});

test('deltas whose start was lost, unknown events, and blocks out of order', () => {
  const delta = (index: number, change: object) => ({ type: 'content_block_delta', index, delta: change });
  const reply = replyTo(
    namedEvents([
      { type: 'future_event' },
      delta(1, { type: 'text_delta', text: 'b' }),
      delta(0, { type: 'thinking_delta', thinking: 'a' }),
      delta(1, { type: 'citations_delta', citation: {} }),
      delta(1, { type: 'text_delta', text: 'c' }),
    ]),
  );
  assert.equal(reply.content, [
    { type: 'thinking', thinking: 'a' },
    { type: 'text', text: 'bc' },
  ]);
  assert.equal([reply.usage, reply.usage_verbatim, reply.model], [null, null, '']);
});

const usageOf = (reported: unknown) => oneShot({ ...rich, usage: reported }).usage;

test('usage: every token once', () => {
  const base = {
    input_tokens: 0,
    output_tokens: 0,
    cache_read_tokens: 0,
    cache_write_5m_tokens: 0,
    cache_write_1h_tokens: 0,
    reasoning_tokens: 0,
  };
  const cases: [reported: unknown, usage: unknown][] = [
    [
      { input_tokens: 5, output_tokens: 2 },
      { ...base, input_tokens: 5, output_tokens: 2 },
    ],
    [
      { input_tokens: 1, cache_creation_input_tokens: 10, cache_read_input_tokens: 100, output_tokens: 2 },
      { ...base, input_tokens: 111, output_tokens: 2, cache_read_tokens: 100, cache_write_5m_tokens: 10 },
    ],
    [
      {
        input_tokens: 1,
        cache_creation: { ephemeral_5m_input_tokens: 2, ephemeral_1h_input_tokens: 3 },
        output_tokens: 0,
      },
      { ...base, input_tokens: 6, cache_write_5m_tokens: 2, cache_write_1h_tokens: 3 },
    ],
    [
      {
        input_tokens: 1,
        cache_creation_input_tokens: 10,
        cache_creation: { ephemeral_1h_input_tokens: 4 },
        output_tokens: 0,
      },
      { ...base, input_tokens: 11, cache_write_5m_tokens: 6, cache_write_1h_tokens: 4 },
    ],
    [
      { input_tokens: 1, cache_creation_input_tokens: null, cache_creation: null, output_tokens: 3 },
      { ...base, input_tokens: 1, output_tokens: 3 },
    ],
    [
      {
        input_tokens: 10,
        output_tokens: 5,
        iterations: [
          { type: 'compaction', input_tokens: 1000, output_tokens: 50, cache_read_input_tokens: 7 },
          { type: 'message', input_tokens: 10, output_tokens: 5 },
        ],
      },
      { ...base, input_tokens: 1017, output_tokens: 55, cache_read_tokens: 7 },
    ],
    [{}, null],
    [{ input_tokens: 'many' }, null],
    [null, null],
  ];
  for (const [reported, expected] of cases) assert.equal(usageOf(reported), expected, JSON.stringify(reported));
});

test('usage of a stream: the later count holds, a null does not', () => {
  const start = {
    type: 'message_start',
    message: { usage: { input_tokens: 5, cache_read_input_tokens: 7, output_tokens: 1 } },
  };
  const delta = {
    type: 'message_delta',
    delta: {},
    usage: { input_tokens: 6, cache_read_input_tokens: null, output_tokens: 9 },
  };
  const reply = replyTo(namedEvents([start, delta, delta]));
  assert.equal(reply.usage_verbatim, { input_tokens: 6, cache_read_input_tokens: 7, output_tokens: 9 });
  assert.equal([reply.usage?.input_tokens, reply.usage?.output_tokens], [13, 9]);
});

test("a user's blocks", () => {
  const cache_control = { type: 'ephemeral' };
  assert.equal(contentOf('hi'), [{ type: 'text', text: 'hi' }]);
  assert.equal(contentOf(''), []);
  assert.equal(
    contentOf([
      { type: 'text', text: 'see', cache_control },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } },
      { type: 'image', source: { type: 'url', url: 'https://x/y.png' } },
      { type: 'image', source: { type: 'file', file_id: 'f' }, cache_control },
      { type: 'document', source: { type: 'text', data: 'd' }, title: 't', cache_control },
    ]),
    [
      { type: 'text', text: 'see' },
      { type: 'image', media_type: 'image/png', image_base64: 'AA==' },
      { type: 'image', image_url: 'https://x/y.png' },
      { type: 'image', content: { type: 'image', source: { type: 'file', file_id: 'f' } } },
      { type: 'document', content: { type: 'document', source: { type: 'text', data: 'd' }, title: 't' } },
    ],
  );
});

test('tool results', () => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } };
  const result = (rest: object) => contentOf([{ type: 'tool_result', tool_use_id: 't', ...rest }])[0];
  const base = { type: 'tool_result', tool_result_id: 't' };
  assert.equal(result({ content: 'done' }), { ...base, tool_output: 'done' });
  assert.equal(result({ content: '' }), { ...base, tool_output: '' });
  assert.equal(result({}), base);
  assert.equal(
    result({ content: [{ type: 'text', text: 'a' }, image, { type: 'text', text: 'b' }], is_error: false }),
    {
      ...base,
      tool_output: 'a\nb',
      is_error: false,
      content: [image],
    },
  );
  assert.equal(result({ content: [{ ...image, cache_control: {} }], is_error: true, cache_control: {} }), {
    ...base,
    is_error: true,
    content: [image],
  });
});

test('cache marks that move do not move the hash', () => {
  const blocks = (cache_control: unknown) => [
    { type: 'text', text: 'a', cache_control },
    {
      type: 'document',
      source: { type: 'content', content: [{ type: 'text', text: 'b', cache_control }] },
      cache_control,
    },
    {
      type: 'tool_result',
      tool_use_id: 't',
      content: [{ type: 'image', source: { type: 'url' }, cache_control }],
      cache_control,
    },
  ];
  const canonical = (cache_control: unknown) =>
    canonicalContent({ role: 'user', content: contentOf(blocks(cache_control)) });
  assert.is(canonical({ type: 'ephemeral' }), canonical(undefined));
});

test('roles', () => {
  for (const role of ['user', 'assistant', 'system'])
    assert.is(anthropicMessages.message({ role, content: '' }).role, role);
  for (const role of ['tool', 'constructor', '__proto__', '', null, 1]) {
    assert.throws(
      () => anthropicMessages.message({ role, content: '' }),
      (error: unknown) => error instanceof Unreadable,
    );
  }
});

test('what a request asks for', () => {
  const head = (skeleton: Record<string, unknown>) =>
    anthropicMessages.requestHead({ messages: [], ...skeleton }, { messages: 3, tools: 2 });
  assert.equal(head({ model: 'm', stream: true, max_tokens: 10 }), {
    model: 'm',
    stream: true,
    max_tokens: 10,
    tool_count: 2,
    conversation_id: '',
    previous_response_id: '',
  });
  assert.equal(head({ max_tokens: 1e12, stream: 'yes' }), {
    model: '',
    stream: false,
    max_tokens: null,
    tool_count: 2,
    conversation_id: '',
    previous_response_id: '',
  });
  const continued = (thread: unknown) => head({ thread }).previous_response_id;
  assert.is(continued({ type: 'continue', previous_message_id: 'msg_1' }), 'msg_1');
  for (const thread of [
    { type: 'create' },
    { type: 'continue' },
    { type: 'create', previous_message_id: 'msg_1' },
    null,
    'x',
  ])
    assert.is(continued(thread), '');
  assert.throws(
    () => anthropicMessages.requestHead({}, { messages: 0, tools: 0 }),
    (error: unknown) => error instanceof Unreadable,
  );
  assert.equal(anthropicMessages.messagesOutside({ messages: [], system: 'You are' }), []);
});

test('what is no answer is refused, and the message shows none of it', () => {
  const refused: [body: string, contentType: string][] = [
    ['', 'application/json'],
    ['<html>secret</html>', 'text/html'],
    ['{"secret":1}', 'application/json'],
    ['{"secret', 'application/json'],
    ['["secret"]', 'application/json'],
    ['\u001f\u008b secret', sse],
    ['{"content":[1]}', 'application/json'],
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
  assert.equal(replyTo('', sse), { ...replyTo('', sse), content: [], complete: false, error: null });
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
    'type',
    'role',
    'content',
    'text',
    'source',
    'input',
    'tool_use_id',
    'usage',
    'error',
    'cache_creation',
    '__proto__',
  );
  const value = fc.constantFrom<unknown>(
    'text',
    'tool_result',
    'tool_use',
    'image',
    'thinking',
    'base64',
    'x_tool_result',
    'user',
    'message',
    null,
    7,
    true,
  );
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5 },
      value,
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(word, tie('tree'), { maxKeys: 5 }),
    ),
  }));
  fc.assert(
    fc.property(fc.oneof(tree, fc.jsonValue()), (json) => {
      readable(() => Message.parse(anthropicMessages.message(json)));
      readable(() => Message.parse(anthropicMessages.message({ role: 'user', content: json })));
      readable(() => canonicalContent(anthropicMessages.message({ role: 'user', content: [json] })));
      readable(() => Reply.parse(oneShot(json)));
      readable(() => Reply.parse(oneShot({ ...rich, content: [json], usage: json })));
    }),
    { numRuns: 1000 },
  );
});

test('streams of arbitrary events are read or Unreadable', () => {
  const type = fc.constantFrom(
    'message_start',
    'content_block_start',
    'content_block_delta',
    'message_delta',
    'message_stop',
    'error',
    'ping',
  );
  const delta = fc.record({
    type: fc.constantFrom('text_delta', 'input_json_delta', 'thinking_delta', 'signature_delta', 'compaction_delta'),
    text: fc.jsonValue(),
    partial_json: fc.jsonValue(),
    thinking: fc.jsonValue(),
  });
  const block = fc.record({
    type: fc.oneof(fc.constantFrom('text', 'tool_use', 'thinking'), fc.jsonValue()),
    text: fc.jsonValue(),
    input: fc.jsonValue(),
  });
  const part = <T>(known: fc.Arbitrary<T>) => fc.oneof(known, fc.jsonValue());
  const event = fc.record({
    type,
    index: part(fc.nat(3)),
    delta: part(delta),
    content_block: part(block),
    message: fc.jsonValue(),
    usage: fc.jsonValue(),
    error: fc.jsonValue(),
  });
  fc.assert(
    fc.property(fc.array(event, { maxLength: 8 }), fc.nat(2000), (events, cut) => {
      const body = namedEvents(events);
      readable(() => Reply.parse(replyTo(body)));
      readable(() => Reply.parse(replyTo(body.slice(0, cut))));
    }),
    { numRuns: 1000 },
  );
});

const reducers = fixtureFolder('reducers');
if (reducers) {
  const read = (name: string, contentType: string) =>
    anthropicMessages.reply(readFileSync(join(reducers, 'anthropic', name)), contentType);
  const hashes: [turn: string, hash: string][] = [
    ['turn_01', '678203aeb9d91353f7580da4f34276107b206c97e87c118d60cc09b343c4a840'],
    ['turn_02_tool_use', '3811bcbab8e8f010a1905eecfd9377e50fc10b1be074f89b5380be3fa9a90224'],
  ];
  for (const [turn, hash] of hashes) {
    test(`${turn} is one node, streamed and in one piece`, () => {
      const streamed = read(`${turn}_stream.sse`, sse);
      const document = read(`${turn}_oneshot.json`, 'application/json');
      assert.equal(streamed, document);
      for (const { content } of [streamed, document]) {
        assert.is(nodeHash(null, canonicalContent({ role: 'assistant', content })), hash);
      }
    });
  }
  test('the other recorded answers', () => {
    assert.equal(read('messages_stream.sse', ''), read('messages_oneshot.json', ''));
    assert.equal(read('messages_tool_use.sse', sse).content[1]?.tool_input, {
      location: 'San Francisco, CA',
      unit: 'celsius',
    });
  });
}

const recordings = fixtureFolder('recordings');
for (const name of recordings ? readdirSync(recordings) : []) {
  const folder = join(recordings ?? '', name);
  const meta = JSON.parse(readFileSync(join(folder, 'meta.json'), 'utf8')) as Record<string, string>;
  const request = JSON.parse(readFileSync(join(folder, 'request.json'), 'utf8')) as { body_b64: string };
  const wire = readFileSync(join(folder, 'response.sse'));
  test(`${name} decodes and reduces`, () => {
    const decoded = decodeBodySync(wire, meta.content_encoding ?? null);
    assert.not(decoded.salvaged);
    const reply = anthropicMessages.reply(decoded.bytes, meta.content_type ?? '');
    assert.equal([reply.complete, reply.error], [true, null]);
    assert.match(reply.stop_reason, /^(end_turn|tool_use)$/);
    assert.ok(reply.content.length > 0 && (reply.usage?.output_tokens ?? 0) > 0);
    assert.equal(Reply.parse(reply), reply);
    readable(() => assert.unreachable(JSON.stringify(anthropicMessages.reply(wire, meta.content_type ?? '')))); // still coded
  });
  test(`${name}: all messages of its request are read`, () => {
    const body = JSON.parse(Buffer.from(request.body_b64, 'base64').toString()) as { messages: unknown[] };
    for (const element of body.messages) {
      const message = anthropicMessages.message(element);
      assert.equal(Message.parse(message), message);
      assert.not.match(canonicalContent(message), '"cache_control"');
    }
  });
}

if (recordings) {
  test('a recorded answer comes back in the next request as the same content', () => {
    const calls = readdirSync(recordings).map((name) => {
      const request = JSON.parse(readFileSync(join(recordings, name, 'request.json'), 'utf8')) as { body_b64: string };
      const { messages } = JSON.parse(Buffer.from(request.body_b64, 'base64').toString()) as { messages: unknown[] };
      const answer = decodeBodySync(readFileSync(join(recordings, name, 'response.sse')), 'gzip').bytes;
      const { content } = anthropicMessages.reply(answer, sse);
      return { messages, answered: canonicalContent({ role: 'assistant', content }) };
    });
    const main = calls.slice(1); // the first one asks for a title
    for (const [i, { answered }] of main.slice(0, -1).entries()) {
      const resent = main[i + 1]?.messages.at(-2);
      assert.is(canonicalContent(anthropicMessages.message(resent)), answered, `call ${i}`);
    }
  });
}

test.run();
