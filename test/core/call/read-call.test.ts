/** What is read in a call: the same nodes at any time, and an answer for whatever stands in its bodies. */
import { gzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readingMemory } from '../../../core/call/memory.ts';
import { messageOf, messageSlice } from '../../../core/call/message-slice.ts';
import { type CutRequest, type OpenedRequest, openRequest } from '../../../core/call/open-request.ts';
import { readCall } from '../../../core/call/read-call.ts';
import { builtIn } from '../../../core/call/reader.ts';
import { refusalIn } from '../../../core/call/refusal.ts';
import { sliceId } from '../../../core/capture/slice-codec.ts';
import type { HeaderList } from '../../../core/model/headers.ts';
import { anthropicMessages } from '../../../core/provider/anthropic-messages.ts';
import type { WireFormat } from '../../../core/provider/format.ts';
import { gemini } from '../../../core/provider/gemini.ts';
import { openaiChat } from '../../../core/provider/openai-chat.ts';
import { chat, chatAnswer, recordedJournalCalls } from '../../support/captured-calls.ts';

const [geminiGenerate] = gemini.formats;

const facts = {
  format: 'openai.chat' as const,
  call_id: 'call',
  harness_id: 'unknown',
  provider: 'openai',
  agent_name: 'agent',
  project: 'atlas',
  requested_at: '2026-11-21T09:30:00.000001Z',
  last_byte_at: '2026-11-21T09:30:01.000001Z',
};

function opened(request: unknown, format: WireFormat = openaiChat): OpenedRequest {
  const bytes = request instanceof Uint8Array ? request : Buffer.from(JSON.stringify(request));
  return openRequest(format, { bytes, headers: [] });
}

const answer = (body: string) => ({
  bytes: Buffer.from(body),
  headers: [['content-type', 'application/json']] as [string, string][],
});
const read = (request: unknown, body: string | null = chatAnswer('hello'), memory = readingMemory()) =>
  readCall(builtIn, facts, { request: opened(request), answer: body === null ? null : answer(body) }, memory);

const test = suite('readCall');

test('a chat answer that thought is the same node as its repetition without the thinking', () => {
  const thought = JSON.parse(chatAnswer('well')) as { choices: { message: Record<string, unknown> }[] };
  Object.assign(thought.choices[0]?.message ?? {}, { reasoning_content: 'Hm, what do they mean?' });
  const { answer, reply } = read(chat('hi'), JSON.stringify(thought));
  assert.equal(
    reply?.content.map(({ type }) => type),
    ['thinking', 'text'],
  );
  assert.is(answer?.node_hash, read(chat('hi', 'well', 'more')).messages[1]?.node_hash);
});

test('messages hang on each other, and the answer on the last', () => {
  const { messages, answer, call, model, usage, stop_reason, answered_at } = read({
    ...chat('hi', 'well', 'more'),
    tools: [{}, {}],
    stream: true,
  });
  assert.equal(
    messages.map(({ role, depth }) => [role, depth]),
    [
      ['user', 0],
      ['assistant', 1],
      ['user', 2],
    ],
  );
  assert.equal(
    messages.map(({ parent_hash }) => parent_hash),
    [null, messages[0]?.node_hash, messages[1]?.node_hash],
  );
  assert.is(answer?.parent_hash, messages[2]?.node_hash);
  assert.is(answer?.depth, 3);
  assert.is(answer?.slice_id, null);
  assert.equal(call, {
    tip_hash: messages[2]?.node_hash,
    leaf_hash: answer?.node_hash,
    model: 'gpt-4o-mini',
    stream: true,
    max_tokens: null,
    tool_count: 2,
    response_id: 'chatcmpl-1',
    call_key: null, // servers of chat completions draw their ids out of few
    ...{ previous_response_id: '', item_ids: [], item_reference: '' },
    conversation_id: '',
    unreadable: '',
    kind: 'main',
    judged: '',
    ...{ cwd: '', git_branch: '', agent_name: '' },
  });
  assert.is(model, 'gpt-4o-mini-2024');
  assert.is(usage.input_tokens, 10);
  assert.is(stop_reason, 'stop');
  assert.is(answered_at, facts.last_byte_at);
});

test('an answer that comes back as history is the same node', () => {
  const first = read(chat('hi'), chatAnswer('well'));
  const second = read(chat('hi', 'well', 'more'));
  assert.is(second.messages[1]?.node_hash, first.answer?.node_hash);
});

test('what a harness injects hangs beside the spine', () => {
  const { messages, call } = read({
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'user', content: '# MCP Server Instructions\nuse them' },
    ],
  });
  assert.is(messages[1]?.injected, 'mcp-instructions');
  assert.is(messages[1]?.parent_hash, messages[0]?.node_hash);
  assert.is(call.tip_hash, messages[0]?.node_hash);
});

test('the memory changes nothing, and gives the same objects back', () => {
  const memory = readingMemory();
  const first = read(chat('hi', 'well', 'more'), null, memory);
  const again = read(chat('hi', 'well', 'more', 'yes', 'and'), null, memory);
  assert.is(again.messages[2], first.messages[2]);
  assert.equal(again.messages, read(chat('hi', 'well', 'more', 'yes', 'and'), null).messages);
});

test('tool calls are counted where they stand', () => {
  const tool_calls = [1, 2].map((id) => ({
    id: `${id}`,
    type: 'function',
    function: { name: 'look', arguments: '{}' },
  }));
  const { messages } = read({
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: null, tool_calls },
    ],
  });
  assert.equal(
    messages.map((message) => message.tool_calls),
    [0, 2],
  );
});

test('a call without an answer has no leaf; so has an error', () => {
  assert.is(read(chat('hi'), null).answer, null);
  const failed = read(chat('hi'), JSON.stringify({ error: { message: 'no', type: 'rate_limit', code: null } }));
  assert.is(failed.answer, null);
  assert.is(failed.reply?.error?.type, 'rate_limit');
});

test('what cannot be read says so, and quotes nothing', () => {
  for (const request of [
    Buffer.from('secret'),
    { model: 'secret' },
    { messages: [{ role: 'secret' }] },
    { messages: [7] },
    Buffer.alloc(0),
  ]) {
    const { unreadable, messages, answer, call } = read(request);
    assert.match(unreadable ?? '', /^Cannot /);
    assert.not.match(unreadable ?? '', /secret/);
    assert.equal(messages, []);
    assert.is(answer, null);
    assert.is(call.tip_hash, null);
  }
  const { answer_unreadable, call } = read(chat('hi'), 'secret');
  assert.match(answer_unreadable ?? '', /^Cannot /);
  assert.not.match(answer_unreadable ?? '', /secret/);
  assert.ok(call.tip_hash);
});

test('a body in one piece is read all the same, its messages as slices of their own', () => {
  const body = Buffer.from(`{"messages":${JSON.stringify(chat('hi', 'well').messages)}}`);
  const whole: CutRequest = { body, pieces: [{ section: null, start: 0, end: body.byteLength }], ids: [sliceId(body)] };
  const { messages, own_slices } = readCall(
    builtIn,
    facts,
    { request: openRequest(openaiChat, { bytes: body, headers: [] }, () => whole), answer: null },
    readingMemory(),
  );
  const usual = read({ messages: chat('hi', 'well').messages }, null);
  assert.equal(
    messages.map(({ node_hash }) => node_hash),
    usual.messages.map(({ node_hash }) => node_hash),
  );
  assert.equal(
    own_slices.map(({ slice_id }) => slice_id),
    messages.map(({ slice_id }) => slice_id),
  );
  assert.equal(messageOf(openaiChat, own_slices[1]?.bytes ?? Buffer.alloc(0)), {
    role: 'assistant',
    content: [{ type: 'text', text: 'well' }],
  });
});

test('a slice of a message that is no element reads as that message', () => {
  const message = { role: 'user' as const, content: [{ type: 'text', text: 'hi' }] };
  assert.equal(messageOf(openaiChat, messageSlice(message)), message);
  assert.equal(messageOf(openaiChat, Buffer.from(' , {"role":"user","content":"hi"}')), message);
});

test('request bodies are decoded; a torn one cannot be read', () => {
  const bytes = Buffer.from('{"messages":[]}');
  assert.equal(openRequest(openaiChat, { bytes, headers: [] }).cut?.body, bytes);
  const coded = openRequest(openaiChat, { bytes, headers: [['Content-Encoding', 'nonsense']] });
  assert.is(coded.cut, null);
  assert.match(coded.unreadable ?? '', /nonsense/);
  const torn = openRequest(openaiChat, {
    bytes: gzipSync(bytes).subarray(0, -9),
    headers: [['Content-Encoding', 'gzip']],
  });
  assert.is(torn.cut, null);
  assert.is(torn.unreadable, 'Cannot decode a body: it ends early');
});

test('codings in several header lines are stacked, as those in one line are', () => {
  const twice = (body: string) => gzipSync(gzipSync(body));
  const headers: HeaderList = [
    ['content-type', 'application/json'],
    ['Content-Encoding', 'gzip'],
    ['content-encoding', 'gzip'],
  ];
  const request = openRequest(openaiChat, { bytes: twice(JSON.stringify(chat('hi'))), headers });
  const answer = { bytes: twice(chatAnswer('hello')), headers };
  const { messages, reply } = readCall(builtIn, facts, { request, answer }, readingMemory());
  assert.is(messages.length, 1);
  assert.equal(reply?.content, [{ type: 'text', text: 'hello' }]);
  assert.is(refusalIn({ bytes: twice('{"message":"no quota"}'), headers })?.error?.message, 'no quota');
});

test('a Gemini request is read the same with lists and with the one element in place of each', () => {
  const readGemini = (request: unknown) =>
    readCall(
      builtIn,
      { ...facts, format: 'gemini.generate' },
      { request: opened(request, geminiGenerate), answer: null },
      readingMemory(),
    );
  const listed = readGemini({ contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] });
  for (const contents of [
    { role: 'user', parts: { text: 'Hello' } },
    { parts: [{ text: 'Hello' }] },
    [{ parts: [{ text: 'Hello' }] }],
    [{ role: 'USER', parts: { text: 'Hello' } }],
  ]) {
    const { unreadable, messages, call } = readGemini({ contents });
    assert.is(unreadable, null);
    assert.is(messages.length, 1);
    assert.is(call.tip_hash, listed.call.tip_hash, JSON.stringify(contents));
  }
});

const recorded = await recordedJournalCalls();
if (recorded) {
  test('the recorded session is one chain', () => {
    const memory = readingMemory();
    const turns = recorded.map(({ request, response, responseHead: answered }) =>
      readCall(
        builtIn,
        { ...facts, format: 'anthropic.messages' },
        {
          request: opened(request, anthropicMessages),
          answer: answered && { bytes: response, headers: answered.headers },
        },
        memory,
      ),
    );
    assert.ok(
      turns.every(
        ({ unreadable, answer_unreadable, reply }) =>
          unreadable === null && answer_unreadable === null && reply?.complete,
      ),
    );
    const main = turns.slice(1);
    for (const [index, { answer }] of main.entries()) {
      const next = main[index + 1];
      if (next)
        assert.is(
          next.messages.at(-2)?.node_hash,
          answer?.node_hash,
          `the answer of call ${index} is history in the next`,
        );
    }
  });
}

test.run();
