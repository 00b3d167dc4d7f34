import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openByteSemaphore, readBody } from '../../ingest/read-body.ts';

const test = suite('readBody');

async function* coming(...chunks: Uint8Array[]): AsyncGenerator<Uint8Array, void> {
  yield* chunks;
}

const chunk = (length: number) => new Uint8Array(length).fill(7);

/** What is left of a room of this size. */
const leftOf = (room: ReturnType<typeof openByteSemaphore>, size: number) => {
  let left = size;
  while (left > 0 && !room.acquire(left)) left--;
  room.release(left);
  return left;
};

test('a body is the same bytes however it is cut, and owns its buffer', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ maxLength: 40_000, size: 'max' })),
      fc.boolean(),
      async (chunks, declares) => {
        const sent = Buffer.concat(chunks);
        const declared = declares ? sent.length : null;
        const body = await readBody(coming(...chunks), { declared, limit: 1e9, room: openByteSemaphore(1e9) });
        if (body.kind !== 'whole') throw new Error(body.kind);
        assert.ok(Buffer.from(body.bytes).equals(sent));
        assert.equal([body.bytes.byteOffset, body.bytes.buffer.byteLength], [0, sent.length]);
      },
    ),
    { numRuns: 50 },
  ));

test('exactly the limit passes, a byte more does not, whatever is declared', async () => {
  for (const declared of [null, 10, 100]) {
    const read = (...chunks: Uint8Array[]) =>
      readBody(coming(...chunks), { declared, limit: 100, room: openByteSemaphore(1_000) });
    assert.is((await read(chunk(60), chunk(40))).kind, 'whole');
    assert.is((await read(chunk(60), chunk(41))).kind, 'oversize');
  }
});

test('what declares too much is not read at all', async () => {
  let wasRead = false;
  const source = (async function* () {
    wasRead = true;
    yield chunk(1);
  })();
  const body = await readBody(source, { declared: 101, limit: 100, room: openByteSemaphore(1_000) });
  assert.equal([body.kind, wasRead], ['oversize', false]);
});

test('nothing past the limit is read', async () => {
  let given = 0;
  const endless = (async function* () {
    for (;;) {
      given++;
      yield chunk(10);
    }
  })();
  assert.is((await readBody(endless, { declared: null, limit: 100, room: openByteSemaphore(1_000) })).kind, 'oversize');
  assert.is(given, 11);
});

test('room for what is declared is taken before anything is read', async () => {
  const room = openByteSemaphore(100);
  let wasRead = false;
  const source = (async function* () {
    wasRead = true;
    yield chunk(1);
  })();
  assert.is((await readBody(source, { declared: 101, limit: 1_000, room })).kind, 'busy');
  assert.not.ok(wasRead);
});

test('a body without a length takes room as it comes', async () => {
  const room = openByteSemaphore(100_000);
  assert.is((await readBody(coming(chunk(60_000), chunk(60_000)), { declared: null, limit: 1e6, room })).kind, 'busy');
  assert.is((await readBody(coming(chunk(60_000)), { declared: null, limit: 1e6, room })).kind, 'whole');
});

test('a whole body holds its own length of the room, any other nothing', async () => {
  const size = 200_000;
  const room = openByteSemaphore(size);
  const cut = (async function* () {
    yield chunk(30_000);
    throw new Error('gone');
  })();
  assert.is((await readBody(cut, { declared: 90_000, limit: 100_000, room })).kind, 'cut');
  assert.is(
    (await readBody(coming(chunk(90_000), chunk(90_000)), { declared: null, limit: 100_000, room })).kind,
    'oversize',
  );
  assert.is((await readBody(coming(chunk(size + 1)), { declared: null, limit: 1e6, room })).kind, 'busy');
  assert.is(leftOf(room, size), size);

  for (const declared of [null, 50_000]) {
    assert.is((await readBody(coming(chunk(20_000)), { declared, limit: 100_000, room })).kind, 'whole');
    assert.is(leftOf(room, size), size - 20_000);
    room.release(20_000);
  }
});

test('a sender that lies about its length gets no room for free', async () => {
  const room = openByteSemaphore(50_000);
  assert.is((await readBody(coming(chunk(60_000)), { declared: 1, limit: 1e6, room })).kind, 'busy');
  assert.is(leftOf(room, 50_000), 50_000);
});

test.run();
