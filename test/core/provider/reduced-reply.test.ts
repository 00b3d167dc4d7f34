/** What a sender has read of an answer is the reply that reading it here would give; what it did not read is nothing. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canonicalContent } from '../../../core/harness/canonical-content.ts';
import { Reply } from '../../../core/model/reply.ts';
import { anthropicMessages } from '../../../core/provider/anthropic-messages.ts';
import { Unreadable } from '../../../core/provider/format.ts';
import { isEmptyReply, reducedReply } from '../../../core/provider/reduced-reply.ts';
import { fixtureFolder } from '../../support/fixtures.ts';

const read = (reduced: unknown): Reply => {
  const reply = reducedReply(Buffer.from(typeof reduced === 'string' ? reduced : JSON.stringify(reduced)));
  assert.equal(Reply.parse(reply), reply, 'it is a reply by the schema');
  return reply;
};
const refuses = (reduced: unknown, why: RegExp) =>
  assert.throws(
    () => read(reduced),
    (error: Error) => error instanceof Unreadable && why.test(error.message) && !/secret/.test(error.message),
    JSON.stringify(reduced)?.slice(0, 80),
  );

/** What a sender in Go emits of an answer that it did not read. */
const zeros = {
  model: '',
  created_at: '0001-01-01T00:00:00Z',
  message: { role: '', content: null },
  done: false,
};
const plainReply = {
  model: 'm',
  message: { role: 'assistant', content: [{ type: 'text', text: 'hi' }] },
  stop_reason: 'stop',
};

const test = suite('reduced reply');

test('a call that was passed on whole is a tool call, and its answer a result; other whole items stay as they are', () => {
  const blocksOf = (...content: object[]) => read({ ...plainReply, message: { role: 'assistant', content } }).content;
  const item = {
    type: 'custom_tool_call',
    id: 'ctc_1',
    status: 'completed',
    call_id: 'c1',
    name: 'apply_patch',
    input: '*** Begin',
  };
  assert.equal(blocksOf({ type: 'custom_tool_call', content: item }), [
    { type: 'tool_use', tool_use_id: 'c1', tool_name: 'apply_patch', tool_input: '*** Begin' },
  ]);
  assert.equal(blocksOf({ type: 'custom_tool_call_output', content: { call_id: 'c1', output: 'Done' } }), [
    { type: 'tool_result', tool_result_id: 'c1', tool_output: 'Done' },
  ]);
  assert.equal(
    blocksOf({ type: 'web_search_call', content: { id: 'ws', status: 'completed', action: { query: 'q' } } }).map(
      ({ type }) => type,
    ),
    ['server_tool_use', 'web_search_tool_result'],
  );
  const others = [
    { type: 'compaction', content: { encrypted_content: 'x' } },
    { type: 'web_search_tool_result', tool_result_id: 't2', content: [{ url: 'u' }] },
  ];
  assert.equal(blocksOf(...others), others);
});

test('every part of the shape is read', () => {
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 7,
    total_tokens: 107,
    cache_read_input_tokens: 60,
    cache_creation_input_tokens: 30,
    total_duration_ns: 5,
  };
  const content = [
    { type: 'thinking', thinking: 'hm', thinking_signature: 'sig' },
    { type: 'text', text: 'hi' },
    { type: 'image', image_base64: 'aa', media_type: 'image/png' },
    { type: 'tool_use', tool_use_id: 't1', tool_name: 'ls', tool_input: { path: '.' } },
    { type: 'tool_result', tool_result_id: 't1', tool_output: 'a', is_error: false },
    { type: 'web_search_tool_result', tool_result_id: 't2', content: [{ url: 'u' }] },
  ];
  assert.equal(
    read({
      model: 'm-1',
      created_at: '2026-11-21T09:30:00Z',
      message: { role: 'assistant', content },
      done: true,
      stop_reason: 'end_turn',
      usage,
      extra: { id: 'msg_1', type: 'message' },
      raw_response: { left: 'alone' },
    }),
    {
      content,
      model: 'm-1',
      response_id: 'msg_1',
      stop_reason: 'end_turn',
      usage: {
        input_tokens: 100,
        output_tokens: 7,
        cache_read_tokens: 60,
        cache_write_5m_tokens: 30,
        cache_write_1h_tokens: 0,
        reasoning_tokens: 0,
      },
      usage_verbatim: usage,
      complete: true,
      error: null,
    },
  );
});

test('what a sender did not read says nothing', () => {
  for (const reduced of [
    undefined,
    null,
    '',
    [],
    {},
    zeros,
    { ...zeros, usage: {}, extra: {} },
    { ...zeros, message: { role: '', content: [] }, usage: { prompt_tokens: 0 }, extra: null, stop_reason: '' },
    { ...zeros, message: null },
    { model: 'm', created_at: '2026-11-21T09:30:00Z', done: true },
  ]) {
    assert.is(isEmptyReply(reduced), true, JSON.stringify(reduced));
    if (typeof reduced === 'object' && reduced && !Array.isArray(reduced)) refuses(reduced, /it says nothing$/);
  }
});

test('one word of an answer is something', () => {
  for (const reduced of [
    { message: { role: 'assistant' } },
    { message: { content: 'hi' } },
    { message: { content: [{}] } },
    { stop_reason: 'stop' },
    { usage: { completion_tokens: 1 } },
    { extra: { error: { type: 'overloaded_error' } } },
    { extra: { error: 'overloaded' } },
    'text',
    [1],
    7,
  ]) {
    assert.is(isEmptyReply(reduced), false, JSON.stringify(reduced));
  }
});

test('a torn answer is not complete, and an error is told', () => {
  assert.is(read({ ...plainReply, extra: { incomplete: true } }).complete, false);
  assert.is(read({ ...plainReply, extra: { partial: true, reducer_error: 'eof' } }).complete, false);
  assert.is(read({ ...plainReply, extra: { incomplete: false, partial: null } }).complete, true);
  assert.is(
    read({ ...plainReply, stop_reason: 'incomplete' }).complete,
    true,
    'a model that ran out of tokens has answered',
  );
  assert.equal(read({ extra: { incomplete: true, error: { type: 'overloaded_error', message: 'busy' } } }), {
    content: [],
    model: '',
    response_id: '',
    stop_reason: '',
    usage: null,
    usage_verbatim: null,
    complete: false,
    error: { type: 'overloaded_error', message: 'busy' },
  });
  assert.equal(read({ extra: { error: 'busy' } }).error, { type: 'error', message: 'busy' });
  assert.equal(read({ extra: { error: {} } }).error, { type: 'error', message: '' });
  assert.is(read({ ...plainReply, extra: { error: '' } }).error, null);
});

test('a block is what it says of itself', () => {
  const blocks = (content: unknown) => read({ message: { role: 'assistant', content } }).content;
  assert.equal(blocks('hi'), [{ type: 'text', text: 'hi' }]);
  assert.equal(blocks(null), []);
  assert.equal(blocks([{ type: 'tool_use', tool_use_id: 't', tool_name: 'list', tool_input: null }]), [
    { type: 'tool_use', tool_use_id: 't', tool_name: 'list', tool_input: {} },
  ]);
  assert.equal(blocks([{ type: 'text', text: 7, is_error: 'no', content: null, made_up: 1 }]), [{ type: 'text' }]);
  assert.equal(blocks([{ type: 'x', content: 0, tool_input: 'free text' }]), [
    { type: 'x', content: 0, tool_input: 'free text' },
  ]);
});

test('an answer that cannot be read is refused without a word of it', () => {
  for (const content of [[{ text: 'secret' }], ['secret'], [null], [{ type: '', text: 'secret' }], [{ type: 7 }]]) {
    refuses({ ...plainReply, message: { role: 'assistant', content } }, /a content block has no type$/);
  }
  refuses({ ...plainReply, message: { content: { secret: 1 } } }, /neither text nor blocks$/);
  for (const text of ['secret', '{"secret":', '']) refuses(text, /it is no JSON$/);
  for (const text of ['"secret"', '["secret"]', '7', 'null']) refuses(text, /it is no JSON object$/);
  for (const depth of [600, 10_000, 100_000]) {
    const deep = `${'['.repeat(depth)}${']'.repeat(depth)}`;
    refuses(`{"message":{"role":"assistant","content":[{"type":"x","content":${deep}}]}}`, /nested more than/);
    refuses(`{"message":{"role":"assistant"},"anything":${deep}}`, /nested more than/);
    assert.is(isEmptyReply(JSON.parse(`{"anything":${deep}}`)), true);
  }
});

test('tokens are whole numbers, and the prompt includes its cache', () => {
  const usage = (reported: unknown) => read({ ...plainReply, usage: reported }).usage;
  for (const reported of [
    undefined,
    null,
    {},
    [],
    'x',
    { prompt_tokens: 0 },
    { total_tokens: 9 },
    { prompt_tokens: -1 },
  ]) {
    assert.is(usage(reported), null, JSON.stringify(reported));
  }
  assert.is(usage({ prompt_tokens: 10.5, completion_tokens: 2 })?.input_tokens, 0);
  assert.is(
    usage({ prompt_tokens: 3, cache_read_input_tokens: 9 })?.input_tokens,
    9,
    'never less than what it includes',
  );
});

test('NUL and lone surrogates are text like any other', () => {
  const text =
    '{"model":"\\u0000","stop_reason":"\\ud800","message":{"content":[{"type":"\\u0000","text":"\\udfff"}]}}';
  const reply = read(text);
  assert.equal([reply.model, reply.stop_reason], ['\u0000', '\ud800']);
  assert.equal(reply.content, [{ type: '\u0000', text: '\udfff' }]);
});

test('an answer is one node, whoever has read it', () => {
  const answer = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    stop_reason: 'tool_use',
    content: [
      { type: 'thinking', thinking: 'hm', signature: 's' },
      { type: 'text', text: 'I look.' },
      { type: 'tool_use', id: 't1', name: 'ls', input: {} },
    ],
    usage: { input_tokens: 10, cache_creation_input_tokens: 30, cache_read_input_tokens: 60, output_tokens: 7 },
  };
  const own = anthropicMessages.reply(Buffer.from(JSON.stringify(answer)), 'application/json');
  const theirs = read({
    model: 'm',
    message: {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm', thinking_signature: 's' },
        { type: 'text', text: 'I look.' },
        { type: 'tool_use', tool_use_id: 't1', tool_name: 'ls' },
      ],
    },
    stop_reason: 'tool_use',
    usage: {
      prompt_tokens: 100,
      completion_tokens: 7,
      total_tokens: 107,
      cache_creation_input_tokens: 30,
      cache_read_input_tokens: 60,
    },
    extra: { id: 'msg_1', type: 'message' },
  });
  const hashed = ({ content }: Reply) => canonicalContent({ role: 'assistant', content });
  assert.is(hashed(theirs), hashed(own));
  assert.equal({ ...theirs, usage_verbatim: null }, { ...own, usage_verbatim: null });
});

const folder = fixtureFolder('corpus');
if (folder) {
  const rows = gunzipSync(readFileSync(join(folder, 'corpus-codex-delta.jsonl.gz')))
    .toString('utf8')
    .trim()
    .split('\n');
  const answers = rows
    .map((row) => JSON.parse(row) as { source: string; response: Record<string, unknown> })
    .filter(({ source }) => source === 'wire')
    .map(({ response }) => response);

  test('answers that another system has read are read from its words', () => {
    assert.is(answers.length, 13);
    const replies = answers.map(read);
    for (const { model, complete, error, stop_reason, response_id, content } of replies) {
      assert.equal([model, complete, error, stop_reason], ['gpt-5.6-sol', true, null, 'stop']);
      assert.match(response_id, /^resp_/);
      assert.ok(content.length > 0);
    }
    assert.is(replies.flatMap(({ content }) => content).filter(({ type }) => type === 'tool_use').length, 10);
    const [first, second] = replies.map(({ usage }) => usage);
    assert.equal([first?.input_tokens, first?.output_tokens, first?.cache_read_tokens], [17_908, 181, 0]);
    assert.equal([second?.input_tokens, second?.output_tokens, second?.cache_read_tokens], [18_150, 160, 17_152]);
  });
}

test.run();
