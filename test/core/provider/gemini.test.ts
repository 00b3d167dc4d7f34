import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canonicalContent } from '../../../core/harness/canonical-content.ts';
import { libraryOf } from '../../../core/harness/libraries.ts';
import { Message } from '../../../core/model/bucket.ts';
import { Reply } from '../../../core/model/reply.ts';
import { echoed } from '../../../core/provider/echoed.ts';
import { Unreadable } from '../../../core/provider/format.ts';
import { formatById } from '../../../core/provider/formats.ts';
import { gemini } from '../../../core/provider/gemini.ts';
import { fixtureFolder } from '../../support/fixtures.ts';

const test = suite('gemini');

const [format] = gemini.formats;
const head = { modelVersion: 'gemini-2.5-flash', responseId: 'r-1' };
const usageMetadata = {
  promptTokenCount: 100,
  cachedContentTokenCount: 40,
  candidatesTokenCount: 20,
  thoughtsTokenCount: 30,
  toolUsePromptTokenCount: 5,
  totalTokenCount: 155,
};
const usage = {
  input_tokens: 105,
  output_tokens: 50,
  cache_read_tokens: 40,
  cache_write_5m_tokens: 0,
  cache_write_1h_tokens: 0,
  reasoning_tokens: 30,
};
const thought = { text: 'The weather is asked for.', thought: true };
const call = { functionCall: { name: 'get_weather', args: { city: 'Oslo' } }, thoughtSignature: 'c2ln' };

/** A document of an answer, or a chunk of one. */
const chunk = (parts: object[], finishReason?: string, more: object = {}) => ({
  candidates: [{ content: { role: 'model', parts }, ...(finishReason && { finishReason }), index: 0 }],
  ...head,
  ...more,
});
const replyTo = (body: string, type = 'application/json; charset=UTF-8') => format.reply(Buffer.from(body), type);
const events = (chunks: readonly object[]) => chunks.map((one) => `data: ${JSON.stringify(one)}\r\n\r\n`).join('');
const sse = (chunks: readonly object[]) => replyTo(events(chunks), 'text/event-stream');
const isUnreadable = (error: unknown) => error instanceof Unreadable;
const hashed = (message: Message) => canonicalContent(echoed(format, message));

const chunks = [
  chunk([{ text: 'The weather ', thought: true }], undefined, { usageMetadata: { promptTokenCount: 100 } }),
  chunk([{ text: 'is asked for.', thought: true }]),
  chunk([{ text: 'Let me ' }]),
  chunk([{ text: 'see.' }]),
  chunk([call]),
  chunk([{ text: '' }], 'STOP', { usageMetadata }),
];
const content = [
  { type: 'thinking', thinking: 'The weather is asked for.' },
  { type: 'text', text: 'Let me see.' },
  {
    type: 'tool_use',
    tool_use_id: 'get_weather',
    tool_name: 'get_weather',
    tool_input: { city: 'Oslo' },
    thinking_signature: 'c2ln',
  },
];

test('an answer is the same as a document, as events and as an array', () => {
  const document = chunk([thought, { text: 'Let me see.' }, call], 'STOP', { usageMetadata });
  const expected = {
    content,
    model: 'gemini-2.5-flash',
    response_id: 'r-1',
    stop_reason: 'STOP',
    usage,
    usage_verbatim: usageMetadata,
    complete: true,
    error: null,
  };
  const array = JSON.stringify(chunks, null, 2);
  for (const reply of [replyTo(JSON.stringify(document)), sse(chunks), replyTo(array)]) {
    assert.equal(reply, expected);
    assert.equal(Reply.parse(reply), reply);
  }
});

test('of a stream that ends early, what came is there, wherever it was cut', () => {
  const array = JSON.stringify([chunk([{ text: 'a "quoted\\" [word' }]), ...chunks]);
  for (let end = 1; end < array.length; end++) {
    const reply = replyTo(array.slice(0, end));
    assert.is(reply.error, null);
    const output = reply.content.map(({ text = '' }) => text).join('');
    assert.ok('a "quoted\\" [wordLet me see.'.startsWith(output), output);
  }
  const stream = events(chunks);
  for (let end = 6; end < stream.length; end++) {
    const { complete, content: found } = replyTo(stream.slice(0, end), 'text/event-stream');
    assert.ok(found.length <= content.length);
    assert.ok(!complete || end > stream.length - 8, String(end));
  }
});

test('a large array that ends early is read once', () => {
  const piece = JSON.stringify(chunk([{ text: '\\"{['.repeat(50) }]));
  const from = performance.now();
  const { content: found } = replyTo(`[${Array(20_000).fill(piece).join(',')},{"a":"${'\\"'.repeat(500_000)}`);
  assert.is(found[0]?.text?.length, 20_000 * 200);
  assert.ok(performance.now() - from < 10_000);
});

test('an array that ends within a long string has what came before it', () => {
  const long = `{"inlineData":{"mimeType":"image/png","data":"${'A'.repeat(20_000_000)}`;
  const reply = replyTo(`[${JSON.stringify(chunk([{ text: 'Here:' }]))},{"candidates":[{"content":{"parts":[${long}`);
  assert.equal([reply.complete, reply.content], [false, [{ type: 'text', text: 'Here:' }]]);
});

test('an answer has one hash, however it was sent and however a client sends it back', () => {
  const answer = hashed({ role: 'assistant', content: sse(chunks).content });
  const contents = chunks.map(({ candidates: [candidate] }) => format.message(candidate?.content));
  const joined = { role: 'assistant' as const, content: contents.flatMap((one) => one.content) }; // as Google's client
  const consolidated = format.message({ role: 'model', parts: [{ text: 'Let me see.' }, call] }); // as its CLI
  const renamed = { functionCall: { ...call.functionCall, id: 'get_weather-1-ab' } };
  const withIds = format.message({ role: 'model', parts: [{ text: 'Let me see.' }, renamed] });
  for (const message of [joined, consolidated, withIds]) assert.is(hashed(message), answer);
  const other = format.message({ role: 'model', parts: [{ text: 'Let me see!' }, call] });
  assert.is.not(hashed(other), answer);
});

test('a person may say several things in one content, which stay apart', () => {
  const message = format.message({ role: 'user', parts: [{ text: 'a' }, { text: 'b' }] });
  assert.is(echoed(format, message).content.length, 2);
});

test('each part has its block, in camel case and in snake case', () => {
  const image = { type: 'image', media_type: 'image/png', image_base64: 'AAAA' };
  const url = { type: 'image', media_type: 'image/jpeg', image_url: 'https://x.example/y' };
  const output = { type: 'tool_result', tool_result_id: 'f', tool_name: 'f' };
  for (const [part, block] of [
    [{ text: 'hi' }, { type: 'text', text: 'hi' }],
    [
      { text: 'hm', thought: true, thought_signature: 's' },
      { type: 'thinking', thinking: 'hm', thinking_signature: 's' },
    ],
    [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }, image],
    [{ inline_data: { mime_type: 'image/png', data: 'AAAA' } }, image],
    [
      { inlineData: { mimeType: 'audio/wav', data: 'AAAA' } },
      { type: 'inlineData', content: { mimeType: 'audio/wav', data: 'AAAA' } },
    ],
    [{ fileData: { mimeType: 'image/jpeg', fileUri: 'https://x.example/y' } }, url],
    [{ file_data: { mime_type: 'image/jpeg', file_uri: 'https://x.example/y' } }, url],
    [
      { function_call: { id: '7', name: 'f', args: {} } },
      { type: 'tool_use', tool_use_id: '7', tool_name: 'f', tool_input: {} },
    ],
    [{ functionResponse: { name: 'f', response: { output: 'ok' } } }, { ...output, tool_output: 'ok' }],
    [{ function_response: { name: 'f', response: { a: 1 } } }, { ...output, tool_output: '{"a":1}' }],
    [{ functionResponse: { name: 'f', response: { error: 'no' } } }, { ...output, tool_output: 'no', is_error: true }],
    [
      { executableCode: { language: 'PYTHON', code: '1+1' } },
      {
        type: 'server_tool_use',
        tool_use_id: 'code_execution',
        tool_name: 'code_execution',
        tool_input: { language: 'PYTHON', code: '1+1' },
      },
    ],
    [
      { code_execution_result: { outcome: 'OUTCOME_OK', output: '2' } },
      {
        type: 'code_execution_tool_result',
        tool_result_id: 'code_execution',
        tool_output: '2',
        is_error: false,
      },
    ],
    [{ somethingNew: { a: 1 } }, { type: 'somethingNew', content: { a: 1 } }],
  ] as const) {
    const message = format.message({ role: 'user', parts: [part] });
    assert.equal(message, { role: 'user', content: [block] }, JSON.stringify(part));
    assert.equal(Message.parse(message), message);
  }
});

test('roles are those of the API; none is that of a person', () => {
  for (const [role, ours] of [
    ['user', 'user'],
    ['model', 'assistant'],
    ['function', 'tool'],
    [undefined, 'user'],
    ['USER', 'user'],
    ['MODEL', 'assistant'],
    ['FUNCTION', 'tool'],
  ] as const)
    assert.is(format.message({ role, parts: [] }).role, ours);
  for (const bad of [{ role: 'constructor', parts: [] }, null, 'hi', { role: 'user', parts: 'hi' }, { parts: [1] }])
    assert.throws(() => format.message(bad), isUnreadable);
});

test('what a request asks for is in its path and its body', () => {
  const counts = { messages: 1, tools: 3 };
  const body = { contents: [], generationConfig: { maxOutputTokens: 99 } };
  const expectedHead = { stream: false, max_tokens: 99, tool_count: 3, conversation_id: '', previous_response_id: '' };
  assert.equal(format.requestHead(body, counts), { model: '', ...expectedHead });
  const named = { contents: [], model: 'models/gemini-x', generation_config: { max_output_tokens: 99 } };
  assert.equal(format.requestHead(named, counts), { model: 'gemini-x', ...expectedHead });
  assert.throws(() => format.requestHead({ messages: [] }, counts), isUnreadable);
  for (const [path, inPath] of [
    ['/gemini/v1beta/models/gemini-2.5-pro:generateContent', { model: 'gemini-2.5-pro', stream: false }],
    ['/v1/models/gemini-2.5-pro:streamGenerateContent?alt=sse', { model: 'gemini-2.5-pro', stream: true }],
    ['/v1/projects/p/locations/l/publishers/google/models/g:generateContent', { model: 'g', stream: false }],
    ['/v1beta/models:generateContent', {}],
    ['', {}],
  ] as const)
    assert.equal(format.headInPath?.(path), inPath, path);
  assert.is(format.toolsIn?.({ functionDeclarations: [{}, {}] }), 2);
  assert.is(format.toolsIn?.({ function_declarations: [{}] }), 1);
  assert.is(format.toolsIn?.({ googleSearch: {} }), 1);
  for (const systemInstruction of [
    { parts: [{ text: 'Be brief' }] },
    { role: 'user', parts: [{ text: 'Be brief' }] },
  ]) {
    assert.equal(format.systemPrompts({ systemInstruction }), [[{ text: 'Be brief' }]]);
    assert.equal(format.systemPrompts({ system_instruction: systemInstruction }), [[{ text: 'Be brief' }]]);
  }
});

test('in place of a list there may be its one element, as Google’s own samples have it', () => {
  const content = { role: 'user', parts: { text: 'Hello' } };
  const message = { role: 'user', content: [{ type: 'text', text: 'Hello' }] };
  assert.equal(format.message(content), message);
  assert.equal(format.messagesOutside({ contents: content }), [message]);
  assert.equal(format.messagesOutside({ contents: [content] }), [], 'a list is read element by element');
  const image = { inline_data: { mime_type: 'image/png', data: 'AAAA' } };
  const result = { functionResponse: { name: 'f', response: {}, parts: image } };
  assert.equal(format.message({ parts: result }).content[0]?.content, [image]);
  const counts = { messages: 0, tools: 0 };
  assert.is(format.requestHead({ contents: content }, counts).tool_count, 0);
  const tools = { function_declarations: [{ name: 'f' }, { name: 'g' }] };
  assert.is(format.requestHead({ contents: content, tools }, counts).tool_count, 2);
  assert.is(format.toolsIn?.({ functionDeclarations: { name: 'f' } }), 1);
  for (const contents of ['Hello', 1, null])
    assert.throws(() => format.requestHead({ contents }, counts), isUnreadable);
  for (const key of ['systemInstruction', 'system_instruction']) {
    assert.equal(format.systemPrompts({ [key]: { parts: { text: 'Be brief' } } }), [[{ text: 'Be brief' }]]);
    assert.equal(format.systemPrompts({ [key]: 'Be brief' }), ['Be brief']);
  }
});

test('what was stopped has its word, and what failed its status', () => {
  const blocked = replyTo(JSON.stringify({ promptFeedback: { blockReason: 'SAFETY' }, usageMetadata, ...head }));
  assert.equal([blocked.stop_reason, blocked.content, blocked.complete, blocked.error], ['SAFETY', [], true, null]);
  const cut = sse([chunk([{ text: 'a' }]), { candidates: [{ finishReason: 'PROHIBITED_CONTENT', index: 0 }] }]);
  assert.equal([cut.stop_reason, cut.complete], ['PROHIBITED_CONTENT', true]);
  const document = { error: { code: 429, message: 'Too many', status: 'RESOURCE_EXHAUSTED' } };
  const error = { type: 'RESOURCE_EXHAUSTED', message: 'Too many' };
  assert.equal(replyTo(JSON.stringify(document)).error, error);
  assert.is(replyTo(JSON.stringify(document)).complete, true);
  assert.equal(replyTo(JSON.stringify([document])).error, error);
  const torn = sse([...chunks.slice(0, 3), document]);
  assert.equal([torn.error, torn.complete, torn.content.length], [error, false, 2]);
  assert.equal(replyTo('{"error":{"code":500}}').error, { type: '500', message: '' });
  for (const body of ['', 'busy', '{}', '7', '"x"']) assert.throws(() => replyTo(body), isUnreadable, body);
});

test('usage without figures is none; terms that the list does not price are told', () => {
  assert.is(replyTo(JSON.stringify(chunk([], 'STOP', { usageMetadata: {} }))).usage, null);
  const termsOf = (more: object, parts: object[] = [{ text: 'a' }]) =>
    format.terms(replyTo(JSON.stringify(chunk(parts, 'STOP', { usageMetadata: { ...usageMetadata, ...more } }))));
  assert.is(termsOf({ trafficType: 'ON_DEMAND' }).service_tier, '');
  assert.is(termsOf({ trafficType: 'PROVISIONED_THROUGHPUT' }).service_tier, 'provisioned_throughput');
  assert.is(termsOf({ promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 7 }] }).audio_tokens, 7);
  assert.is(termsOf({ promptTokensDetails: [{ modality: 'IMAGE', tokenCount: 7 }] }).audio_tokens, 0);
  assert.is(termsOf({ candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 9 }] }).audio_tokens, 9);
  assert.is(termsOf({}, [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }]).audio_tokens, 1);
  const grounded = chunk([{ text: 'a' }], 'STOP', { usageMetadata });
  Object.assign(grounded.candidates[0] as object, { groundingMetadata: { webSearchQueries: ['weather'] } });
  assert.is(format.terms(replyTo(JSON.stringify(grounded))).service_tier, 'grounded_by_search');
});

test('an answer that was grounded by search or by Maps is billed on terms of its own, one by files or pages is not', () => {
  const tierOf = (groundingMetadata: object) => {
    const answer = (more: object) => ({ ...chunk([{ text: 'a' }], 'STOP', { usageMetadata }), ...more });
    const [candidate] = chunk([{ text: 'a' }], 'STOP').candidates;
    const { service_tier } = format.terms(
      replyTo(JSON.stringify(answer({ candidates: [{ ...candidate, groundingMetadata }] }))),
    );
    return service_tier;
  };
  const place = { maps: { uri: 'https://maps.google.com/?cid=1', title: 'Opera', placeId: 'places/1' } };
  const page = { web: { uri: 'https://example.com', title: 'Oslo' } };
  const file = { retrievedContext: { uri: 'gs://b/f', title: 'F' } };
  assert.is(tierOf({ groundingChunks: [page, place] }), 'grounded_by_maps');
  assert.is(tierOf({ googleMapsWidgetContextToken: 'widget' }), 'grounded_by_maps');
  assert.is(tierOf({ google_maps_widget_context_token: 'widget' }), 'grounded_by_maps');
  assert.is(tierOf({ grounding_chunks: [place] }), 'grounded_by_maps');
  assert.is(tierOf({ groundingChunks: [place], webSearchQueries: ['opera'] }), 'grounded_by_search');
  assert.is(tierOf({ imageSearchQueries: ['opera'] }), 'grounded_by_search');
  for (const groundingMetadata of [
    {},
    { groundingChunks: [file] },
    { groundingChunks: [page] },
    { groundingChunks: 'x' },
  ])
    assert.is(tierOf(groundingMetadata), '');
});

test('our own errors have the form of the provider', () => {
  assert.equal(JSON.parse(gemini.errorBody(404, 'Not here')), {
    error: { code: 404, message: 'Not here', status: 'NOT_FOUND' },
  });
  assert.equal(replyTo(gemini.errorBody(502, 'Away')).error, { type: 'UNAVAILABLE', message: 'Away' });
});

test('its libraries are told by what they call themselves', () => {
  for (const [agent, name] of [
    ['google-genai-sdk/2.32.0 gl-node/v20.20.2', 'google-genai-js'],
    ['google-genai-sdk/1.47.0 gl-python/3.12.3', 'google-genai-python'],
  ] as const)
    assert.is(libraryOf([['User-Agent', agent]])?.name, name);
});

test('it is one of the formats', () => assert.is(formatById('gemini.generate'), format));

const folder = fixtureFolder('clients');
if (folder) {
  test('what the real command line sends is read', () => {
    const { body, response } = JSON.parse(readFileSync(`${folder}/gemini-000.json`, 'utf8'));
    const [first] = body.contents.map((one: unknown) => format.message(one));
    assert.equal([first.role, first.content.at(-1)], ['user', { type: 'text', text: 'say hello' }]);
    assert.is(format.toolsIn?.(body.tools[0]), 8);
    const reply = replyTo(response.body, response.contentType);
    assert.equal(reply.content, [{ type: 'text', text: 'Hello from the fake server.' }]);
    assert.equal([reply.stop_reason, reply.complete, reply.usage?.input_tokens], ['STOP', true, 9]);
  });
}

test.run();
