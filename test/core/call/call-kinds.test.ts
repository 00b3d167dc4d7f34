/** What recorded calls of real harnesses are for, and that a call's purpose is told by its ends, however long its history. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { completeTurn } from '../../../core/call/complete-turn.ts';
import { callMemory, readingMemory } from '../../../core/call/memory.ts';
import { type OpenedExchange, openExchange } from '../../../core/call/open-exchange.ts';
import { openRequest } from '../../../core/call/open-request.ts';
import { readCall } from '../../../core/call/read-call.ts';
import { builtIn } from '../../../core/call/reader.ts';
import { traitsOf } from '../../../core/call/traits.ts';
import { ingestExchange } from '../../../core/engine/ingest/ingest-exchange.ts';
import { openCall } from '../../../core/engine/intake/open-call.ts';
import { wordsOf } from '../../../core/harness/message-text.ts';
import type { Message } from '../../../core/model/bucket.ts';
import type { FormatId } from '../../../core/provider/formats.ts';
import { formatById, formatOf } from '../../../core/provider/formats.ts';
import { capturedCall, recordedJournalCalls } from '../../support/captured-calls.ts';
import { fixtureFolder } from '../../support/fixtures.ts';
import { capturedCalls } from '../../support/replay-captures.ts';

const test = suite('call kinds');

/** `[kind, thread]` of a call that is a turn. */
function purposeOf(opened: OpenedExchange): [kind: string, thread: string] {
  const made = completeTurn(opened, null, callMemory());
  if (made.kind === 'counted') throw new Error(`Cannot tell a purpose: the call is counted as ${made.counted.outcome}`);
  return [made.turn.nodes.call.kind, made.turn.identity.thread_id];
}

const recorded = await recordedJournalCalls();
if (recorded) {
  test('the recorded session of Claude Code asks for a title once, and else is the conversation', () => {
    const memory = callMemory();
    const kinds = recorded.map((call) => purposeOf(openCall(call, memory, new Uint8Array(32)))[0]);
    assert.equal(kinds, ['offshoot:title-gen', ...Array.from({ length: 8 }, () => 'main')]);
  });
}

const captures = capturedCalls();
if (captures) {
  /** Of all its calls that are turns, in order. */
  const purposes = (client: string) => {
    const memory = callMemory();
    return captures
      .filter((capture) => capture.client === client)
      .flatMap(({ method, url, headers, body, response }, n) => {
        const format = formatOf(method, url.split('?')[0] ?? '')?.id;
        if (!format) return [];
        const call = capturedCall({
          n,
          format,
          headers,
          request: body,
          response: response.body,
          status: response.status,
        });
        const answered = call.responseHead && {
          ...call.responseHead,
          headers: [['content-type', response.contentType]] as [string, string][],
        };
        return [purposeOf(openCall({ ...call, responseHead: answered }, memory, new Uint8Array(32)))];
      });
  };

  test('the calls of Claude Code and its sub-agent are all the conversation, each of its thread', () => {
    const sub = 'a9b2a396fff8564e8';
    assert.equal(purposes('claude-agent'), [
      ['main', ''],
      ['main', sub],
      ['main', sub],
      ['main', ''],
    ]);
    assert.equal(purposes('claude'), [['main', '']]);
  });

  test('the calls of Codex and its sub-agent are all the conversation, each of its thread', () => {
    const sub = '01a1fc52-a1cc-7c03-b98d-f384124bcdc0';
    assert.equal(purposes('codex-agent'), [
      ['main', ''],
      ['main', ''],
      ['main', sub],
      ['main', sub],
      ['main', ''],
    ]);
    assert.equal(purposes('codex'), [['main', '']]);
  });

  test('opencode asks for a title before it begins; other clients only talk', () => {
    assert.equal(purposes('opencode'), [
      ['offshoot:title-gen', ''],
      ['main', ''],
    ]);
    for (const client of ['pi', 'sdks']) {
      assert.ok(purposes(client).length > 0);
      for (const purpose of purposes(client)) assert.equal(purpose, ['main', ''], client);
    }
  });
}

const corpus = fixtureFolder('corpus');
if (corpus) {
  test('the corpus of Codex is all conversation', () => {
    const memory = callMemory();
    const kinds = gunzipSync(readFileSync(join(corpus, 'corpus-codex-delta.jsonl.gz')))
      .toString()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ source }) => source === 'wire')
      .map(({ provider, raw_request: request, response, meta, session_envelope: session }) => {
        const body = Buffer.from(JSON.stringify({ provider, request, response, meta, session }));
        const ingested = ingestExchange(body, {
          identityKey: Buffer.from('key'),
          newId: () => 'minted',
          now: () => '2026-11-21T12:00:00.000000Z',
          subject: null,
        });
        if (ingested.kind === 'malformed') throw new Error(ingested.error);
        return purposeOf(openExchange(ingested.exchange, ingested.identityOf, memory))[0];
      });
    assert.equal(
      kinds,
      Array.from({ length: 13 }, () => 'main'),
    );
  });
}

const facts = {
  ...{ call_id: 'c', harness_id: 'claude', provider: 'anthropic', agent_name: '', project: '' },
  ...{ requested_at: '2026-11-21T12:00:00.000000Z', last_byte_at: null },
};
const NOTHING_ANSWERED = { answer: null };

function callOf(format: FormatId, body: unknown, harness_id = 'claude', memory = readingMemory()) {
  const bytes = Buffer.from(JSON.stringify(body));
  const request = openRequest(formatById(format), { bytes, headers: [] });
  return readCall(builtIn, { ...facts, harness_id, format }, { request, ...NOTHING_ANSWERED }, memory).call;
}

const MONITOR = 'You are a security monitor. Answer <block>yes</block> or <block>no</block>.';
const transcript = ['<transcript>', 'Bash rm -rf "build"', '</transcript>', 'Err on the side of blocking.'];

test('what the system says is found wherever a format keeps it', () => {
  const user = { role: 'user', content: transcript.map((text) => ({ type: 'text', text })) };
  const asItem = { role: 'user', content: transcript.map((text) => ({ type: 'input_text', text })) };
  const says = [{ role: 'system', content: MONITOR }];
  const requests: [FormatId, Record<string, unknown>][] = [
    ['anthropic.messages', { system: MONITOR, messages: [user] }],
    [
      'anthropic.messages',
      {
        system: [
          { type: 'text', text: 'Hello.' },
          { type: 'text', text: MONITOR },
        ],
        messages: [user],
      },
    ],
    ['openai.chat', { messages: [...says, user] }],
    ['openai.chat', { messages: [{ role: 'developer', content: [{ type: 'text', text: MONITOR }] }, user] }],
    ['openai.responses', { instructions: MONITOR, input: [asItem] }],
    ['openai.responses', { input: [...says, asItem] }],
    ['ollama.chat', { messages: [...says, { role: 'user', content: transcript.join('\n') }] }],
  ];
  for (const [format, body] of requests) {
    for (const harness_id of ['claude', 'unknown']) {
      const { kind, judged } = callOf(format, body, harness_id);
      assert.equal([kind, judged], ['offshoot:permission-check:stage1', 'bash rm -rf build'], format);
    }
  }
});

test('context that a harness puts after the last message hides it from nobody', () => {
  const { kind } = callOf('anthropic.messages', {
    messages: [
      { role: 'user', content: '[SUGGESTION MODE: what next?]' },
      { role: 'system', content: 'Available agent types for the Agent tool: …' },
    ],
  });
  assert.is(kind, 'offshoot:suggestion');
});

test('what was read before changes no purpose', () => {
  const memory = readingMemory();
  const bodies = [
    { max_tokens: 1, messages: [{ role: 'user', content: 'quota' }] },
    { max_tokens: 9, messages: [{ role: 'user', content: 'quota' }] },
    { system: '{"title": …}', messages: [{ role: 'user', content: 'quota' }] },
    { system: MONITOR, messages: [{ role: 'user', content: 'quota' }] },
  ];
  const kinds = bodies.map((body) => callOf('anthropic.messages', body).kind);
  assert.is(new Set(kinds).size, 4);
  for (let again = 0; again < 2; again++)
    assert.equal(
      bodies.map((body) => callOf('anthropic.messages', body, 'claude', memory).kind),
      kinds,
    );
});

test('a request that cannot be read has no purpose of its own', () => {
  assert.is(callOf('anthropic.messages', { max_tokens: 1, messages: 'hi' }).kind, 'main');
});

/** A history of so many messages, and how many of them were read to answer all that can be asked. */
function readsFor(count: number): number {
  const messages = Array.from({ length: count }, (_, n) => ({ slice_id: String(n) }));
  let reads = 0;
  const read = ({ slice_id }: { slice_id: string }): Message => {
    reads++;
    return { role: Number(slice_id) % 2 ? 'assistant' : 'user', content: [{ type: 'text', text: slice_id }] };
  };
  const format = formatById('anthropic.messages');
  const traits = traitsOf({ format, skeleton: {}, system: [], messages, read }, new Map<string, string>());
  assert.is(traits.system(), '');
  assert.equal(
    [wordsOf(traits.first()), wordsOf(traits.last()), wordsOf(traits.last(2))],
    ['0', `${count - 1}`, `${count - 3}`],
  );
  assert.is(traits.last(count), null);
  return reads;
}

test('of a long history only the ends are looked at', () => {
  assert.is(readsFor(2_000), readsFor(10));
});

test.run();
