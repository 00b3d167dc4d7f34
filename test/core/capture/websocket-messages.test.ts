import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { eventIn, socketRequestIn } from '../../../core/capture/websocket-messages.ts';

const test = suite('messages of a Responses socket');

const bytes = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));

test('what asks for a response: a request, more input to the last one, and what steers one', () => {
  const ask = (value: unknown) => socketRequestIn(bytes(value));
  assert.equal(ask({ type: 'response.create', input: [{ type: 'message' }] }), {
    kind: 'create',
    lane: '',
    previous_response_id: '',
  });
  assert.equal(ask({ model: 'm', stream_id: 'a', previous_response_id: 'resp_1', type: 'response.create' }), {
    kind: 'create',
    lane: 'a',
    previous_response_id: 'resp_1',
  });
  assert.is(ask({ type: 'response.append', input: [] })?.kind, 'create');
  assert.is(ask({ type: 'response.steer', previous_response_id: 'resp_1', input: 'x' })?.kind, 'steer');
  for (const other of [
    { type: 'response.processed', response_id: 'r' },
    { type: 7 },
    {},
    [],
    '{"type":"response.cre',
    '',
  ])
    assert.is(ask(other), null, JSON.stringify(other));
});

test('a type deep in a message is not the message’s', () => {
  assert.is(socketRequestIn(bytes({ input: [{ type: 'response.create' }] })), null);
  assert.is(socketRequestIn(bytes('{"input":"\\"type\\":\\"response.create\\""}')), null);
});

test('an event begins a response, belongs to it, ends it or refuses it', () => {
  const kind = (value: unknown) => eventIn(bytes(value))?.kind;
  assert.is(kind({ type: 'response.created', response: {} }), 'begin');
  assert.is(kind({ type: 'response.output_text.delta', delta: 'x' }), 'event');
  for (const end of ['completed', 'incomplete', 'failed', 'cancelled'])
    assert.is(kind({ type: `response.${end}` }), 'end');
  assert.is(kind({ type: 'error' }), 'error');
  assert.is(kind({ type: 'codex.rate_limits' }), 'event');
  for (const other of [{}, { type: 3 }, 'pong', [1]]) assert.is(eventIn(bytes(other)), null);
});

test('an event tells its lane, its number, an error’s status and what it goes on from', () => {
  assert.equal(
    eventIn(
      bytes({
        type: 'response.created',
        stream_id: 'a',
        response: { previous_response_id: 'resp_1' },
        sequence_number: 0,
      }),
    ),
    { kind: 'begin', lane: 'a', status: null, numbered: true, previous_response_id: 'resp_1' },
  );
  const status = (value: object) => eventIn(bytes({ type: 'error', ...value }))?.status;
  assert.is(status({ status: 400, error: {} }), 400);
  assert.is(status({ status_code: 429 }), 429);
  for (const none of [{}, { status: 200 }, { status: 'x' }, { status: 1e9 }]) assert.is(status(none), null);
  assert.is(eventIn(bytes({ type: 'response.failed', status: 500 }))?.status, null);
});

test('of a message with a million members only the first ones are read, since all calls wait meanwhile', () => {
  const members = Array.from({ length: 1_000_000 }, (_, n) => `"k${n}":0`).join(',');
  const message = bytes(`{"type":"response.create","stream_id":"a",${members},"stream_id":"b"}`);
  const event = bytes(`{"type":"response.completed",${members}}`);
  const repeated = bytes(`{"type":"response.create",${Array(1_000_000).fill('"k":0').join(',')}}`);
  const behind = bytes(`{${members},"type":"response.create"}`);
  const from = performance.now();
  assert.equal(socketRequestIn(message), { kind: 'create', lane: 'a', previous_response_id: '' });
  assert.is(eventIn(event)?.kind, 'end');
  assert.is(socketRequestIn(repeated)?.kind, 'create');
  assert.is(socketRequestIn(behind), null, 'a type behind them is not seen');
  const took = performance.now() - from;
  assert.ok(took < 300, `${took} ms`); // in truth less than 5 ms; it was several seconds
});

test.run();
