/** Every call ends as a turn or as a reason, and what was learnt from earlier calls changes nothing. */
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { completeTurn, type Prepared } from '../../../../core/call/complete-turn.ts';
import { type CallMemory, callMemory } from '../../../../core/call/memory.ts';
import type { JournalCall } from '../../../../core/capture/journal-format.ts';
import { readRecipe } from '../../../../core/capture/recipe.ts';
import { sliceId } from '../../../../core/capture/slice-codec.ts';
import { openCall } from '../../../../core/engine/intake/open-call.ts';
import type { HeaderList } from '../../../../core/model/headers.ts';
import {
  type CallLike,
  capturedCall,
  chat,
  chatAnswer,
  recordedJournalCalls,
} from '../../../support/captured-calls.ts';

/** A call that goes on from no other by the provider's word. */
const prepareTurn = (call: JournalCall, memory: CallMemory): Prepared =>
  completeTurn(openCall(call, memory, new Uint8Array(32)), null, memory);

const prepared = (like: Omit<CallLike, 'n'>): Prepared => prepareTurn(capturedCall({ n: 1, ...like }), callMemory());
/** `turn <outcome> <ending>`, or `counted <outcome>`. */
const ended = (like: Omit<CallLike, 'n'>): string => {
  const made = prepared(like);
  return made.kind === 'counted' ? `counted ${made.counted.outcome}` : `turn ${made.turn.outcome} ${made.turn.ending}`;
};

const test = suite('prepareTurn');
const request = chat('hi');
const left = { closed: { ending: 'client_closed' as const } };
const streamed = (finish_reason: string | null) => ({
  response: `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'a' }, finish_reason }] })}\n\n`,
  responseHeaders: [['content-type', 'text/event-stream']] as HeaderList,
});

const coded = (coding: string): HeaderList => [['content-encoding', coding]];

test('outcomes', () => {
  const cases: [string, Omit<CallLike, 'n'>][] = [
    ['turn captured complete', { request }],
    ['turn captured complete', { request, response: '{"error":{"message":"busy","type":"overloaded"}}', status: 529 }],
    ['turn captured complete', { request, response: 'busy', status: 503 }],
    ['turn undecodable complete', { request, response: 'what is this' }],
    ['turn undecodable complete', { request, response: chatAnswer('Hi'), responseHeaders: coded('gzip') }],
    ['turn undecodable complete', { request, response: chatAnswer('Hi'), responseHeaders: coded('none') }],
    ['turn partial client_closed', { request, response: chatAnswer('Hi'), responseHeaders: coded('none'), ...left }],
    ['turn captured complete', { request, response: 'busy', responseHeaders: coded('none'), status: 503 }],
    ['turn captured complete', { request, response: '', status: 204 }],
    ['turn captured complete', { request, response: '', status: 205 }],
    ['turn captured complete', { request, response: '', status: 304 }],
    [
      'turn partial complete',
      {
        request,
        response: 'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n',
        responseHeaders: [['content-type', 'text/event-stream']],
      },
    ],
    ['turn partial complete', { request, response: null, status: 200 }],
    ['turn partial client_closed', { request, closed: { ending: 'client_closed' } }],
    ['turn captured client_closed', { request: { ...request, stream: true }, ...streamed('stop'), ...left }],
    ['turn partial client_closed', { request: { ...request, stream: true }, ...streamed(null), ...left }],
    ['turn partial upstream_error', { request, response: null, closed: { ending: 'upstream_error' } }],
    ['turn partial complete', { request, closed: { cut: 'response' } }],
    ['turn partial overflow', { request, closed: { cut: 'request', ending: 'overflow' } }],
    ['turn undecodable complete', { request: Buffer.from('not json') }],
    ['turn undecodable complete', { request: { messages: 'none' } }],
    ['turn undecodable complete', { request, headers: [['content-encoding', 'nonsense']] }],
    ['turn partial client_closed', { request: Buffer.from('{"messa'), closed: { ending: 'client_closed' } }],
    ['counted over_limit', { request, closed: { over_limit: true, cut: 'request' } }],
    ['turn partial crashed', { request, closed: null }],
    ['turn partial crashed', { request, response: null, closed: null }],
    ['turn partial crashed', { request: Buffer.from('{"messa'), closed: null }], // an answer had begun
    ['counted crashed', { request: Buffer.from('{"messa'), response: null, closed: null }],
    ['counted crashed', { request: Buffer.alloc(0), response: null, closed: null }],
    ['turn captured complete', { request, keep: 'metadata' }],
    ['counted crashed', { request, response: null, keep: 'metadata', closed: null }],
  ];
  for (const [expected, like] of cases) assert.is(ended(like), expected, JSON.stringify(like));
});

test('without bodies there is a turn, but nothing of it to read', () => {
  const made = prepared({ request, keep: 'metadata' });
  assert.ok(made.kind === 'turn');
  assert.equal(made.turn.request.roots, []);
  assert.is(made.turn.response.slice, null);
  assert.is(made.turn.nodes.call.tip_hash, null);
  assert.is(made.turn.request.bytes, Buffer.byteLength(JSON.stringify(request)), 'what passed is told');
  assert.equal(made.turn.meta, { kept: 'metadata' });
});

test('a retry is what says so', () => {
  const retryOf = (value: string) => {
    const made = prepared({ request, headers: [['X-Stainless-Retry-Count', value]] });
    return made.kind === 'turn' && made.turn.retry;
  };
  assert.equal(['0', '1', '2', 'x', ''].map(retryOf), [false, true, true, false, false]);
});

test('whatever stands in the bodies, an answer comes', () => {
  const bytes = fc.oneof(
    fc.uint8Array(),
    fc.json().map((text) => Buffer.from(text)),
    fc.constant(gzipSync('{"messages":[]}')),
  );
  const coding = fc.constantFrom<[string, string][]>(
    [],
    [['content-encoding', 'gzip']],
    [['content-encoding', 'zstd']],
    [['content-encoding', 'br, gzip']],
  );
  fc.assert(
    fc.property(
      bytes,
      bytes,
      coding,
      coding,
      fc.boolean(),
      (requestBytes, responseBytes, headers, responseHeaders, crashed) => {
        prepared({
          request: requestBytes,
          response: responseBytes,
          headers,
          responseHeaders,
          ...(crashed && { closed: null }),
        });
      },
    ),
    { numRuns: 500 },
  );
});

/** All that is stored of a turn, put together again. */
async function bytesIn(made: Prepared): Promise<Buffer> {
  assert.ok(made.kind === 'turn');
  const slices = new Map(made.slices.map(({ slice_id, bytes }) => [slice_id, bytes]));
  for (const [slice_id, bytes] of slices) assert.is(sliceId(bytes), slice_id);
  const of = (ids: readonly string[]) => ids.map((id) => slices.get(id) ?? assert.unreachable(id)) as Uint8Array[];
  return Buffer.concat(of(await readRecipe(made.turn.request, async (ids) => of(ids))));
}

test('the recipe gives the body back, whatever was prepared before it', async () => {
  const word = fc.string();
  const bodies = fc.array(
    fc.record({
      messages: fc.array(fc.record({ role: fc.constantFrom('user', 'assistant'), content: word }), { maxLength: 30 }),
      tools: fc.array(word, { maxLength: 3 }),
    }),
    { maxLength: 6 },
  );
  await fc.assert(
    fc.asyncProperty(bodies, async (all) => {
      const memory = callMemory();
      for (const [n, body] of all.entries()) {
        const call = capturedCall({ n, request: body });
        const made = prepareTurn(call, memory);
        assert.equal(await bytesIn(made), Buffer.from(call.request));
        assert.equal(made, prepareTurn(call, callMemory()));
      }
    }),
    { numRuns: 30 },
  );
});

const recorded = await recordedJournalCalls();
if (recorded) {
  test('of a recorded call little is new after the first', () => {
    const memory = callMemory();
    const known = new Set<string>();
    const fresh = recorded.map((call) => {
      const made = prepareTurn(call, memory);
      assert.ok(made.kind === 'turn');
      const slices = made.slices.filter(({ slice_id }) => !known.has(slice_id));
      for (const { slice_id } of slices) known.add(slice_id);
      return slices.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
    });
    assert.ok(
      fresh.slice(2).every((bytes) => bytes < 20_000),
      fresh.join(' '),
    );
    assert.equal(made(recorded[8]), made(recorded[8], memory));
  });
  const made = (call: (typeof recorded)[number] | undefined, memory = callMemory()) =>
    call && prepareTurn(call, memory);
}

test('answers of any coding are kept as they came', () => {
  const response = gzipSync(chatAnswer('packed'));
  const made = prepared({ request, response, responseHeaders: [['content-encoding', 'gzip']] });
  assert.ok(made.kind === 'turn');
  assert.is(made.turn.response.slice, sliceId(response));
  assert.ok(made.turn.nodes.answer);
});

test.run();
