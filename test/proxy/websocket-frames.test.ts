import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type FrameReader, readFrames } from '../../proxy/websocket-frames.ts';
import { BINARY, CLOSE, deflated, frame, PING } from '../support/websocket-frames.ts';
import { until } from './stand.ts';

const test = suite('readFrames');

const BY_ITSELF = 'permessage-deflate; client_no_context_takeover; server_no_context_takeover';

/** What a reader heard, in order. */
function hearing(
  extensions: string | null = null,
  maxMessageBytes = 33_554_432,
): { reader: FrameReader; heard: string[] } {
  const heard: string[] = [];
  let instant = 0;
  const reader = readFrames(extensions, {
    maxMessageBytes,
    now: () => String(++instant),
    listener: {
      message: (side, message, at) => heard.push(`${side} ${message.length > 40 ? message.length : message} @${at}`),
      left: (side) => heard.push(`${side} left`),
      lost: (why) => heard.push(`lost ${why}`),
    },
  });
  assert.ok(reader);
  return { reader, heard };
}

test('an answer that needs no inflating is heard after the request that does', async () => {
  const { reader, heard } = hearing(BY_ITSELF);
  reader.received('client', frame(deflated('x'.repeat(5_000_000)), { mask: true, compressed: true }));
  reader.received('server', frame('short'));
  reader.ended('server');
  await until(() => heard.length === 3);
  assert.equal(heard, ['client 5000000 @1', 'server short @2', 'server left']);
});

test('a message has the instant of its first byte', async () => {
  const { reader, heard } = hearing();
  const message = frame('in two chunks', { mask: true });
  reader.received('client', frame('', { mask: true, opcode: PING }));
  reader.received('client', message.subarray(0, 7));
  reader.received('server', frame('one'));
  reader.received('client', message.subarray(7));
  await until(() => heard.length === 2);
  assert.equal(heard, ['server one @3', 'client in two chunks @2']);
});

test('the side that closes first has left, whoever’s connection ends first', async () => {
  const { reader, heard } = hearing();
  reader.received('client', frame('', { mask: true, opcode: CLOSE }));
  reader.received('client', Buffer.from('what follows a closing frame is nothing'));
  reader.received('server', frame('', { opcode: CLOSE }));
  reader.ended('server');
  reader.ended('client');
  await until(() => heard.length === 1);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(heard, ['client left']);
});

test('binary messages are read over', async () => {
  const { reader, heard } = hearing();
  reader.received('server', frame('binary', { opcode: BINARY }));
  reader.received('server', frame('text'));
  await until(() => heard.length === 1);
  assert.equal(heard, ['server text @2']);
});

test('what is kept in memory is bounded: nothing is heard once the copy is lost', async () => {
  const tooMuch: Record<string, (reader: FrameReader) => void> = {
    'a message over the limit': (reader) => reader.received('server', frame('x'.repeat(2_000_000))),
    'one that inflates over the limit': (reader) =>
      reader.received('server', frame(deflated('x'.repeat(2_000_000)), { compressed: true })),
    'more than waits while a message is inflated': (reader) => {
      reader.received('client', frame(deflated('x'.repeat(900_000)), { mask: true, compressed: true }));
      for (let i = 0; i < 20; i++) reader.received('server', frame('y'.repeat(900_000)));
    },
    'a message in more pieces than anybody makes': (reader) => {
      reader.received('server', frame('x', { fin: false }));
      const pieces = Buffer.concat(Array(1000).fill(frame('x', { fin: false, opcode: 0 })));
      for (let i = 0; i < 20; i++) reader.received('server', pieces);
    },
    'pings without end within a message': (reader) => {
      reader.received('server', frame('x', { fin: false }));
      const pings = Buffer.concat(Array(500).fill(frame('p'.repeat(125), { opcode: PING })));
      for (let i = 0; i < 40; i++) reader.received('server', pings);
    },
  };
  for (const [what, send] of Object.entries(tooMuch)) {
    const { reader, heard } = hearing(BY_ITSELF, 1_000_000);
    send(reader);
    reader.received('server', frame('afterwards'));
    reader.ended('client');
    await until(() => heard.some((words) => words.startsWith('lost')), what);
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.is(heard.at(-1), 'lost over_limit', what);
  }
});

test('a listener that fails costs the copy, and nothing else', async () => {
  let lost = '';
  for (const extensions of [null, BY_ITSELF]) {
    const reader = readFrames(extensions, {
      maxMessageBytes: 1000,
      now: () => '',
      listener: {
        message: () => {
          throw new Error('our own');
        },
        left: () => {},
        lost: (why) => {
          lost += `${why} `;
        },
      },
    });
    reader?.received('server', extensions ? frame(deflated('text'), { compressed: true }) : frame('text'));
  }
  await until(() => lost === 'undecodable undecodable ');
});

test('what cannot be read is known from the extensions', () => {
  const options = { maxMessageBytes: 1, now: () => '', listener: { message() {}, left() {}, lost() {} } };
  for (const known of [
    null,
    'permessage-deflate',
    'permessage-deflate; server_max_window_bits=10; client_max_window_bits=12',
  ])
    assert.ok(readFrames(known, options), String(known));
  for (const unknown of ['x-own', 'permessage-deflate, x-own', 'permessage-deflate; server_max_window_bits=99', '=;='])
    assert.is(readFrames(unknown, options), null, unknown);
});

test.run();
