/** The parts of `ws` that its types leave out and the capture of WebSockets relies on: another version of `ws` may change them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { deflateRawSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as ws from 'ws';
import { packageRoot } from '../../core/package-root.ts';

const test = suite('internals of ws');

type Deflate = { params: object | null; accept(offers: readonly unknown[]): object; cleanup(): void };
const { Receiver, PerMessageDeflate, extension } = ws as unknown as {
  Receiver: new (options: object) => Writable;
  PerMessageDeflate: new (options: object) => Deflate;
  extension: { parse(header: string): Record<string, unknown[]> };
};
const DEFLATE = 'permessage-deflate';
const TEXT = 0x1;
const CLOSE = 0x8;
const PING = 0x9;
const PONG = 0xa;
const FIN = 0x80;
const COMPRESSED = 0x40;

const frame = (head: number, payload: Uint8Array) => Buffer.concat([Buffer.of(head, payload.length), payload]);

/** Writes frames of a server, and gives the events in their order and the error of each write. */
async function received(options: object, ...frames: Buffer[]) {
  const receiver = new Receiver({ isServer: false, extensions: {}, skipUTF8Validation: true, ...options });
  const events: unknown[] = [];
  for (const name of ['message', 'ping', 'pong', 'conclude', 'error'])
    receiver.on(name, (...values: unknown[]) => events.push([name, ...values]));
  const errors: (string | undefined)[] = [];
  for (const bytes of frames)
    errors.push(
      await new Promise<string | undefined>((written) =>
        receiver.write(bytes, (error) => written((error as NodeJS.ErrnoException | null | undefined)?.code)),
      ),
    );
  return { events, errors };
}

test('the version is the one that this was written for, and npm takes no other', () => {
  const json = (path: string) => JSON.parse(readFileSync(join(packageRoot(), path), 'utf8'));
  const pinned = json('package.json').dependencies.ws;
  assert.match(pinned, /^\d+\.\d+\.\d+$/);
  assert.is(json('node_modules/ws/package.json').version, pinned);
});

test('a receiver is a stream that takes bytes in any chunks and emits messages whole', async () => {
  assert.ok(Receiver.prototype instanceof Writable);
  const bytes = frame(FIN | TEXT, Buffer.from('hello'));
  const { events, errors } = await received({}, bytes.subarray(0, 3), bytes.subarray(3));
  assert.equal(events, [['message', Buffer.from('hello'), false]]);
  assert.equal(errors, [undefined, undefined]);
});

test('the frames of a client are unmasked', async () => {
  const masked = Buffer.from([FIN | TEXT, 0x82, 1, 2, 3, 4, 0x68 ^ 1, 0x69 ^ 2]);
  assert.equal((await received({ isServer: true }, masked)).events, [['message', Buffer.from('hi'), false]]);
});

test('pings, pongs and the end are events of their own', async () => {
  const empty = Buffer.alloc(0);
  const { events } = await received({}, frame(FIN | PING, empty), frame(FIN | PONG, empty), frame(FIN | CLOSE, empty));
  assert.equal(
    events.map((event) => (event as unknown[])[0]),
    ['ping', 'pong', 'conclude'],
  );
});

test('an extension that was agreed on elsewhere is applied by its parameters', async () => {
  const offers = extension.parse(`${DEFLATE}; server_no_context_takeover; client_max_window_bits=12`);
  assert.equal(Object.keys(offers), [DEFLATE]);
  const params = new PerMessageDeflate({ isServer: false }).accept(offers[DEFLATE] ?? []);
  assert.equal({ ...params }, { server_no_context_takeover: true, client_max_window_bits: 12 });
  const deflate = new PerMessageDeflate({ isServer: false, maxPayload: 100 });
  assert.is(deflate.params, null);
  deflate.params = params;
  const packed = deflateRawSync('hello hello hello', { finishFlush: 2 }).subarray(0, -4); // Z_SYNC_FLUSH, without its tail
  const { events } = await received({ extensions: { [DEFLATE]: deflate } }, frame(FIN | COMPRESSED | TEXT, packed));
  deflate.cleanup();
  assert.equal(events, [['message', Buffer.from('hello hello hello'), false]]);
  assert.throws(() => extension.parse('; ='));
});

test('what is over a limit is an error with its code, given to the callback of the write', async () => {
  const long = frame(FIN | TEXT, Buffer.alloc(11, 'x'));
  assert.equal((await received({ maxPayload: 10 }, long)).errors, ['WS_ERR_UNSUPPORTED_MESSAGE_LENGTH']);
  const part = (head: number) => frame(head, Buffer.from('x'));
  const { errors } = await received({ maxFragments: 2 }, part(TEXT), part(0), part(0));
  assert.equal(errors, [undefined, undefined, 'WS_ERR_TOO_MANY_BUFFERED_PARTS']);
  const huge = Buffer.from([FIN | TEXT, 127, 0xff, 0, 0, 0, 0, 0, 0, 0]);
  assert.equal((await received({}, huge)).errors, ['WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH']);
  const chunks = Array.from({ length: 3 }, (_, i) => (i === 0 ? Buffer.from([FIN | TEXT, 20]) : Buffer.from('x')));
  const last = (await received({ maxBufferedChunks: 1 }, ...chunks)).errors.at(-1);
  assert.is(last, 'WS_ERR_TOO_MANY_BUFFERED_PARTS');
});

test.run();
