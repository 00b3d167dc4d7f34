import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canonicalContent } from '../../../core/harness/canonical-content.ts';
import { Message } from '../../../core/model/bucket.ts';
import { Reply } from '../../../core/model/reply.ts';
import { echoed } from '../../../core/provider/echoed.ts';
import { Unreadable } from '../../../core/provider/format.ts';
import { openaiChat } from '../../../core/provider/openai-chat.ts';
import { fixtureFolder } from '../../support/fixtures.ts';
import { chunkEvents, pieces, utf8 } from '../../support/provider-streams.ts';

const test = suite('openaiChat');

const sse = 'text/event-stream';
const replyTo = (body: string, contentType = sse) => openaiChat.reply(utf8(body), contentType);
const oneShot = (document: unknown) => replyTo(JSON.stringify(document), 'application/json');
const contentOf = (content: unknown, role = 'user') => openaiChat.message({ role, content }).content;

type Call = { id: string; type: 'function'; function: { name: string; arguments: string } };
type AssistantMessage = {
  role: 'assistant';
  content: string | null;
  refusal?: string;
  reasoning_content?: string;
  tool_calls?: Call[];
};

const usage = {
  prompt_tokens: 1000,
  completion_tokens: 50,
  total_tokens: 1050,
  prompt_tokens_details: { cached_tokens: 900, cache_write_tokens: 60 },
  completion_tokens_details: { reasoning_tokens: 20 },
};

const documentOf = (message: AssistantMessage, finish_reason = 'stop') => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: 'gpt-4o-mini',
  choices: [{ index: 0, message, finish_reason }],
  usage,
});

/** The chunks by which OpenAI streams a document, text in pieces of the given length. */
function chunksOf(document: ReturnType<typeof documentOf>, length = 7, withIndex = true): object[] {
  const [choice] = document.choices;
  const { content, refusal, reasoning_content, tool_calls } = choice?.message ?? { content: null };
  const deltas: object[] = [
    { role: 'assistant', content: '' },
    ...pieces(reasoning_content ?? '', length).map((piece) => ({ reasoning_content: piece })),
    ...pieces(content ?? '', length).map((piece) => ({ content: piece })),
    ...pieces(refusal ?? '', length).map((piece) => ({ refusal: piece })),
    ...(tool_calls ?? []).flatMap(({ id, type, function: { name, arguments: json } }, i) => {
      const index = withIndex ? { index: i } : {};
      return [
        { tool_calls: [{ ...index, id, type, function: { name, arguments: '' } }] },
        ...pieces(json, length).map((piece) => ({ tool_calls: [{ ...index, function: { arguments: piece } }] })),
      ];
    }),
  ];
  const chunk = { id: document.id, object: 'chat.completion.chunk', model: document.model };
  return [
    ...deltas.map((delta) => ({ ...chunk, choices: [{ index: 0, delta, finish_reason: null }], usage: null })),
    { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: choice?.finish_reason }] },
    { ...chunk, choices: [], usage: document.usage },
  ];
}

const call = (id: string, name: string, json: string): Call => ({
  id,
  type: 'function',
  function: { name, arguments: json },
});

const rich = documentOf(
  {
    role: 'assistant',
    content: 'I will look. €',
    reasoning_content: 'The user wants "it".\n',
    refusal: 'Not that.',
    tool_calls: [
      call('call_1', 'read', '{"path": "/a", "n": [1, 2]}'),
      call('call_2', 'now', ''),
      call('call_3', 'read', '{"p'),
    ],
  },
  'tool_calls',
);

test('every kind of block of a reply', () => {
  const reply = oneShot(rich);
  assert.equal(reply, {
    content: [
      { type: 'thinking', thinking: 'The user wants "it".\n' },
      { type: 'text', text: 'I will look. €' },
      { type: 'refusal', text: 'Not that.' },
      { type: 'tool_use', tool_use_id: 'call_1', tool_name: 'read', tool_input: { path: '/a', n: [1, 2] } },
      { type: 'tool_use', tool_use_id: 'call_2', tool_name: 'now', tool_input: {} },
      { type: 'tool_use', tool_use_id: 'call_3', tool_name: 'read', tool_input: { _unparsed: '{"p' } },
    ],
    model: 'gpt-4o-mini',
    response_id: 'chatcmpl-1',
    stop_reason: 'tool_calls',
    usage: {
      input_tokens: 1000,
      output_tokens: 50,
      cache_read_tokens: 900,
      cache_write_5m_tokens: 60,
      cache_write_1h_tokens: 0,
      reasoning_tokens: 20,
    },
    usage_verbatim: usage,
    complete: true,
    error: null,
  });
  assert.equal(Reply.parse(reply), reply);
});

test('streamed and in one piece, a reply is the same', () => {
  for (const length of [1, 7, 1000]) assert.equal(replyTo(chunkEvents(chunksOf(rich, length))), oneShot(rich));
  assert.equal(replyTo(chunkEvents(chunksOf(rich, 5, false))), oneShot(rich), 'without an index in tool calls');
});

test('any reply is the same streamed, in one piece, and when it comes back as history', () => {
  const anyMessage = fc.record(
    {
      role: fc.constant('assistant' as const),
      content: fc.oneof(fc.constant(null), fc.string({ unit: 'binary' })),
      refusal: fc.string(),
      reasoning_content: fc.string(),
      tool_calls: fc
        .array(fc.tuple(fc.string(), fc.oneof(fc.json(), fc.string())), { maxLength: 3 })
        .map((calls) => calls.map(([name, json], i) => call(`call_${i}`, name, json))),
    },
    { requiredKeys: ['role', 'content'] },
  );
  fc.assert(
    fc.property(anyMessage, fc.integer({ min: 1, max: 9 }), (message, length) => {
      const document = JSON.parse(JSON.stringify(documentOf(message))) as typeof rich;
      const reply = oneShot(document);
      assert.equal(replyTo(chunkEvents(chunksOf(document, length))), reply);
      assert.equal(openaiChat.message(document.choices[0]?.message).content, reply.content);
    }),
  );
});

test('a stream cut at any byte says less, never more', () => {
  const chunks = chunksOf(rich);
  const bytes = utf8(chunkEvents(chunks));
  const whole = openaiChat.reply(bytes, sse);
  const finished = utf8(chunkEvents(chunks.slice(0, -2))).length - utf8(chunkEvents([])).length;
  for (let length = 0; length < bytes.length; length++) {
    const cut = openaiChat.reply(bytes.subarray(0, length), sse);
    if (length < finished) assert.not(cut.complete, `complete at ${length}`);
    assert.is(cut.error, null);
    assert.ok((cut.usage?.input_tokens ?? 0) <= (whole.usage?.input_tokens ?? 0));
    assert.ok((cut.usage?.output_tokens ?? 0) <= (whole.usage?.output_tokens ?? 0));
    assert.equal(Reply.parse(cut), cut);
  }
});

const streamOfCalls = (...deltas: object[][]) =>
  replyTo(chunkEvents(deltas.map((tool_calls) => ({ choices: [{ delta: { tool_calls } }] })))).content.map(
    ({ tool_use_id, tool_name, tool_input }) => [tool_use_id, tool_name, tool_input],
  );

test('tool calls as other providers stream them', () => {
  const f = (name: string, json: unknown) => ({ function: { name, arguments: json } });
  const twoCalls = [
    ['a', 'f', { x: 1 }],
    ['b', 'g', { y: 2 }],
  ];
  assert.equal(
    streamOfCalls([
      { id: 'a', ...f('f', '{"x":1}') },
      { id: 'b', ...f('g', '{"y":2}') },
    ]),
    twoCalls,
    'at once, no index',
  );
  assert.equal(
    streamOfCalls([{ index: 0, id: 'a', ...f('f', '{"x":1}') }], [{ index: 0, id: 'b', ...f('g', '{"y":2}') }]),
    twoCalls,
    'one index',
  );
  assert.equal(
    streamOfCalls(
      [{ index: 1, id: 'a', ...f('f', '{"x"') }],
      [{ index: 2, id: 'b', ...f('g', '{"y"') }],
      [
        { index: 1, ...f('', ':1}') },
        { index: 2, ...f('', ':2}') },
      ],
    ),
    twoCalls,
    'interleaved',
  );
  assert.equal(
    streamOfCalls([{ index: 0, ...f('f', '{"x"') }], [{ index: 0, id: 'a', ...f('f', ':1}') }]),
    [twoCalls[0]],
    'id and name late and twice',
  );
  assert.equal(streamOfCalls([{ index: 0, id: 'a', ...f('f', { x: 1 }) }]), [twoCalls[0]], 'arguments already parsed');
});

test('custom tools and legacy functions', () => {
  const custom = { id: 'c', type: 'custom', custom: { name: 'patch', input: '*** Begin' } };
  const expected = [{ type: 'tool_use', tool_use_id: 'c', tool_name: 'patch', tool_input: '*** Begin' }];
  assert.equal(openaiChat.message({ role: 'assistant', content: null, tool_calls: [custom] }).content, expected);
  const streamed = [
    { index: 0, ...custom, custom: { name: 'patch', input: '*** ' } },
    { index: 0, custom: { input: 'Begin' } },
  ];
  assert.equal(
    replyTo(chunkEvents(streamed.map((piece) => ({ choices: [{ index: 0, delta: { tool_calls: [piece] } }] }))))
      .content,
    expected,
  );

  const legacy = [{ type: 'tool_use', tool_use_id: '', tool_name: 'f', tool_input: { a: 1 } }];
  const function_call = { name: 'f', arguments: '{"a":1}' };
  assert.equal(openaiChat.message({ role: 'assistant', content: null, function_call }).content, legacy);
  const deltas = [{ function_call: { name: 'f', arguments: '{"a"' } }, { function_call: { arguments: ':1}' } }];
  assert.equal(replyTo(chunkEvents(deltas.map((delta) => ({ choices: [{ index: 0, delta }] })))).content, legacy);
});

test('of several choices the first is read', () => {
  const chunks = [1, 0, 1, 0].map((index, i) => ({ choices: [{ index, delta: { content: `${index}${i} ` } }] }));
  assert.equal(replyTo(chunkEvents(chunks)).content, [{ type: 'text', text: '01 03 ' }]);
  const message = { role: 'assistant', content: 'zero' };
  const choices = [
    { index: 1, message: { content: 'one' } },
    { index: 0, message },
  ];
  assert.equal(oneShot({ choices }).content, [{ type: 'text', text: 'zero' }]);
});

test('reasoning under either name, once', () => {
  const reasoned = { content: 'a', reasoning: 'r' };
  const expected = [
    { type: 'thinking', thinking: 'r' },
    { type: 'text', text: 'a' },
  ];
  for (const message of [reasoned, { ...reasoned, reasoning_content: 'r' }]) {
    assert.equal(oneShot({ choices: [{ message }] }).content, expected);
    assert.equal(replyTo(chunkEvents([{ choices: [{ delta: message }] }])).content, expected);
  }
});

test('thoughts and other parts of an answer, streamed as Mistral does, are those of the whole answer and of the history', () => {
  // https://docs.mistral.ai/capabilities/reasoning: thoughts come in lists, the answer behind them as plain text
  const thinks = (words: string) => ({ type: 'thinking', thinking: [{ type: 'text', text: words }] });
  const cites = { type: 'reference', reference_ids: [1, 2] };
  const deltas = [
    { role: 'assistant', content: '' },
    { content: [thinks('Let me ')] },
    { content: [thinks('think')] },
    { content: 'The capital' },
    { content: [{ type: 'text', text: ' is Paris' }] },
    { content: [cites] },
    { content: [] },
    { content: [{ type: 'text', text: '.' }, {}, 7] },
  ];
  const message = {
    role: 'assistant',
    content: [
      thinks('Let me think'),
      { type: 'text', text: 'The capital is Paris' },
      cites,
      { type: 'text', text: '.' },
    ],
  };
  const expected = [
    { type: 'thinking', thinking: 'Let me think' },
    { type: 'text', text: 'The capital is Paris' },
    { type: 'reference', content: cites },
    { type: 'text', text: '.' },
  ];
  const streamed = replyTo(chunkEvents(deltas.map((delta) => ({ choices: [{ index: 0, delta }] })))).content;
  assert.equal(streamed, expected);
  assert.equal(oneShot({ choices: [{ message }] }).content, expected);
  assert.equal(openaiChat.message(message).content, expected);

  const alone = [{ content: [thinks('Hm')] }, { content: [{ type: 'text', text: 'A' }] }, { content: 'B' }];
  const reply = replyTo(chunkEvents(alone.map((delta) => ({ choices: [{ delta }] }))));
  const node = (content: Message['content']) => canonicalContent(echoed(openaiChat, { role: 'assistant', content }));
  const history = openaiChat.message({ role: 'assistant', content: 'AB' });
  assert.equal(
    node(reply.content),
    node(history.content),
    'one node, whether or not the client sends the thoughts back',
  );
  assert.equal(node(reply.content), node([{ type: 'text', text: 'AB' }]));
});

test('a spoken answer is its words', () => {
  const audio = { id: 'audio_1', transcript: 'Hello there', data: 'AAAA', expires_at: 1 };
  const expected = [{ type: 'audio', text: 'Hello there', content: { id: 'audio_1' } }];
  assert.equal(oneShot({ choices: [{ message: { content: null, audio } }] }).content, expected);
  const deltas = [{ audio: { id: 'audio_1', transcript: 'Hello' } }, { audio: { transcript: ' there', data: 'AAAA' } }];
  assert.equal(replyTo(chunkEvents(deltas.map((delta) => ({ choices: [{ delta }] })))).content, expected);
});

test('errors instead of an answer, in every shape seen', () => {
  const shapes: [document: unknown, type: string, message: string][] = [
    [{ error: { message: 'm', type: 'rate_limit_error', code: 'rate_limit' } }, 'rate_limit_error', 'm'],
    [{ error: { message: 'm', type: null, code: 'invalid_api_key' } }, 'invalid_api_key', 'm'],
    [{ error: { message: 'm', code: 429 } }, '429', 'm'],
    [[{ error: { message: 'm', code: 400, status: 'INVALID_ARGUMENT' } }], 'INVALID_ARGUMENT', 'm'],
    [{ error: 'model not found' }, 'error', 'model not found'],
    [{ object: 'error', message: 'm', type: 'BadRequestError', code: 400 }, 'BadRequestError', 'm'],
  ];
  for (const [document, type, message] of shapes) {
    const reply = oneShot(document);
    assert.equal([reply.error, reply.complete, reply.content, reply.usage], [{ type, message }, true, [], null]);
  }
});

test('an error within the stream', () => {
  const error = { error: { message: 'The server had an error', type: 'server_error' } };
  const expected = { type: 'server_error', message: 'The server had an error' };
  const reply = replyTo(chunkEvents([...chunksOf(rich).slice(0, 5), error]));
  assert.equal([reply.error, reply.complete], [expected, false]);
  assert.ok(reply.content.length > 0);
  const inChoice = replyTo(chunkEvents([{ choices: [{ delta: { content: 'a' }, finish_reason: 'error', ...error }] }]));
  assert.equal([inChoice.error, inChoice.complete, inChoice.content.length], [expected, false, 1]);
});

test('usage: every token once', () => {
  const usageOf = (reported: unknown) => oneShot({ choices: [], usage: reported }).usage;
  const base = {
    input_tokens: 0,
    output_tokens: 0,
    cache_read_tokens: 0,
    cache_write_5m_tokens: 0,
    cache_write_1h_tokens: 0,
    reasoning_tokens: 0,
  };
  const cases: [name: string, reported: unknown, usage: unknown][] = [
    ['plain', { prompt_tokens: 9, completion_tokens: 6 }, { ...base, input_tokens: 9, output_tokens: 6 }],
    [
      'DeepSeek',
      { prompt_tokens: 9, completion_tokens: 6, prompt_cache_hit_tokens: 4 },
      { ...base, input_tokens: 9, output_tokens: 6, cache_read_tokens: 4 },
    ],
    [
      'xAI, reasoning beside the completion',
      {
        prompt_tokens: 9,
        completion_tokens: 6,
        total_tokens: 115,
        completion_tokens_details: { reasoning_tokens: 100 },
      },
      { ...base, input_tokens: 9, output_tokens: 106, reasoning_tokens: 100 },
    ],
    [
      'nonsense',
      { prompt_tokens: 9, completion_tokens: -6, prompt_tokens_details: { cached_tokens: 50 } },
      { ...base, input_tokens: 9, cache_read_tokens: 9 },
    ],
    ['nothing', {}, null],
    ['null', null, null],
  ];
  for (const [name, reported, expected] of cases) assert.equal(usageOf(reported), expected, name);
});

test('Gemini counts its thoughts in the total alone; of other models a larger total is not explained', () => {
  const reported = { prompt_tokens: 20, completion_tokens: 424, total_tokens: 1016 };
  const usageOf = (model: string) => {
    const usage = oneShot({ model, choices: [], usage: reported }).usage;
    return [usage?.output_tokens, usage?.reasoning_tokens];
  };
  assert.equal(usageOf('gemini-2.5-flash'), [996, 572]);
  assert.equal(usageOf('models/gemini-2.5-flash'), [996, 572]);
  assert.equal(usageOf('llama'), [424, 0]);
});

test("the usage of a stream that Groq's own member has alone", () => {
  const usage = { prompt_tokens: 5, completion_tokens: 8 };
  assert.is(replyTo(chunkEvents([{ x_groq: { id: 'req_1', usage } }])).usage?.output_tokens, 8);
});

test('the last usage of a stream holds', () => {
  const reply = replyTo(
    chunkEvents([
      { usage: { prompt_tokens: 5, completion_tokens: 1 } },
      { usage: { prompt_tokens: 5, completion_tokens: 8 } },
      { usage: null },
    ]),
  );
  assert.is(reply.usage?.output_tokens, 8);
});

test("a user's parts", () => {
  assert.equal(contentOf('hi'), [{ type: 'text', text: 'hi' }]);
  assert.equal(contentOf(''), []);
  assert.equal(contentOf(null, 'assistant'), []);
  const input_audio = { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } };
  const file = { type: 'file', file: { file_id: 'f' } };
  assert.equal(
    contentOf([
      { type: 'text', text: 'see', cache_control: { type: 'ephemeral' } },
      { type: 'image_url', image_url: { url: 'https://x/y.png', detail: 'low' } },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
      { type: 'image_url', image_url: 'data:image/webp;charset=x;base64,AA,==' },
      { type: 'image_url', image_url: { url: 'data:text/plain,hello' } },
      input_audio,
      { ...file, cache_control: {} },
      { type: 'refusal', refusal: 'no' },
      'loose',
    ]),
    [
      { type: 'text', text: 'see' },
      { type: 'image', image_url: 'https://x/y.png' },
      { type: 'image', media_type: 'image/png', image_base64: 'AA==' },
      { type: 'image', media_type: 'image/webp', image_base64: 'AA,==' },
      { type: 'image', image_url: 'data:text/plain,hello' },
      { type: 'input_audio', content: input_audio },
      { type: 'file', content: file },
      { type: 'refusal', text: 'no' },
      { type: 'text', text: 'loose' },
    ],
  );
});

test('tool messages', () => {
  const result = (raw: object) => openaiChat.message({ role: 'tool', ...raw }).content;
  assert.equal(result({ tool_call_id: 'c', content: 'done' }), [
    { type: 'tool_result', tool_result_id: 'c', tool_output: 'done' },
  ]);
  assert.equal(result({ tool_call_id: 'c', content: '' }), [
    { type: 'tool_result', tool_result_id: 'c', tool_output: '' },
  ]);
  const image = { type: 'image_url', image_url: { url: 'https://x' } };
  assert.equal(
    result({ tool_call_id: 'c', content: [{ type: 'text', text: 'a' }, image, { type: 'text', text: 'b' }] }),
    [
      {
        type: 'tool_result',
        tool_result_id: 'c',
        tool_output: 'a\nb',
        content: [{ type: 'image', image_url: 'https://x' }],
      },
    ],
  );
  const legacy = openaiChat.message({ role: 'function', name: 'f', content: 'done' });
  assert.equal(legacy, { role: 'tool', content: [{ type: 'tool_result', tool_result_id: 'f', tool_output: 'done' }] });
});

test('roles', () => {
  const roleOf = (role: unknown) => openaiChat.message({ role, content: '' }).role;
  assert.equal(['system', 'developer', 'user', 'assistant', 'tool', 'function'].map(roleOf), [
    'system',
    'system',
    'user',
    'assistant',
    'tool',
    'tool',
  ]);
  for (const role of ['model', 'constructor', '', null])
    assert.throws(
      () => roleOf(role),
      (error: unknown) => error instanceof Unreadable,
    );
});

test('what a request asks for', () => {
  const head = (skeleton: Record<string, unknown>) =>
    openaiChat.requestHead({ messages: [], ...skeleton }, { messages: 3, tools: 2 });
  assert.equal(head({ model: 'm', stream: true, max_tokens: 5, max_completion_tokens: 10 }), {
    model: 'm',
    stream: true,
    max_tokens: 10,
    tool_count: 2,
    conversation_id: '',
    previous_response_id: '',
  });
  const legacy = head({ max_tokens: 5, functions: [{}] });
  assert.equal([legacy.max_tokens, legacy.tool_count], [5, 3]);
  assert.throws(
    () => openaiChat.requestHead({ prompt: 'x' }, { messages: 0, tools: 0 }),
    (error: unknown) => error instanceof Unreadable,
  );
  assert.equal(openaiChat.messagesOutside({ messages: [] }), []);
});

const readable = (read: () => unknown) => {
  try {
    read();
  } catch (error) {
    assert.instance(error, Unreadable);
  }
};

test('what is no answer is refused, and the message shows none of it', () => {
  for (const body of [
    '',
    '<html>secret',
    '{"secret":1}',
    '{"secret',
    '[]',
    '["secret"]',
    '{"choices":[{"message":{"content":7}}]}',
  ]) {
    try {
      replyTo(body, 'application/json');
      assert.unreachable(body);
    } catch (error) {
      assert.instance(error, Unreadable);
      assert.not.match((error as Unreadable).message, 'secret');
    }
  }
});

test('arbitrary JSON is read or Unreadable', () => {
  const word = fc.constantFrom(
    'type',
    'role',
    'content',
    'text',
    'image_url',
    'url',
    'tool_calls',
    'function',
    'arguments',
    'custom',
    'error',
    'choices',
    'message',
    'delta',
    'index',
    'usage',
    'audio',
    '__proto__',
  );
  const value = fc.constantFrom<unknown>(
    'text',
    'image_url',
    'data:a;base64,b',
    'refusal',
    'user',
    'tool',
    null,
    0,
    7,
    true,
    '',
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
    fc.property(fc.array(fc.oneof(tree, fc.jsonValue()), { maxLength: 4 }), fc.nat(400), (jsons, cut) => {
      for (const json of jsons) {
        readable(() => Message.parse(openaiChat.message(json)));
        for (const role of ['user', 'tool', 'assistant']) {
          readable(() =>
            canonicalContent(
              openaiChat.message({ role, content: json, tool_calls: json, function_call: json, audio: json }),
            ),
          );
        }
        readable(() => Reply.parse(oneShot(json)));
        readable(() => Reply.parse(oneShot({ choices: [{ message: json, finish_reason: json }], usage: json })));
      }
      const body = chunkEvents([
        ...jsons,
        ...jsons.map((delta) => ({ choices: [{ delta, finish_reason: delta }], usage: delta })),
      ]);
      readable(() => Reply.parse(replyTo(body)));
      readable(() => Reply.parse(replyTo(body.slice(0, cut))));
    }),
    { numRuns: 1000 },
  );
});

const clients = fixtureFolder('clients');
for (const name of clients ? ['opencode-000', 'opencode-001', 'pi-000', 'sdks-001'] : []) {
  test(`${name}: what a real client sent and was answered`, () => {
    const { body, response } = JSON.parse(readFileSync(join(clients ?? '', `${name}.json`), 'utf8')) as {
      body: { messages: unknown[] };
      response: { body: string; contentType: string };
    };
    for (const element of body.messages) Message.parse(openaiChat.message(element));
    const reply = replyTo(response.body, response.contentType);
    assert.equal(reply.content, [{ type: 'text', text: 'Hello from the fake server.' }]);
    assert.equal(
      [reply.complete, reply.stop_reason, reply.usage?.input_tokens, reply.usage?.output_tokens],
      [true, 'stop', 9, 6],
    );
  });
}

test.run();
