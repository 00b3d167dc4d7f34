/** What if a cassette answers with a head that no Response can have? It broke over this request, whichever way it is asked. */
import { once } from 'node:events';
import { createServer, connect as dial } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openChannel } from '../../../../core/cassette/isolation/channel.ts';
import { startRemote } from '../../../../core/cassette/isolation/remote.ts';
import { mounted } from '../../../../core/cassette/mount.ts';
import { CassetteDown, type RunningCassette } from '../../../../core/cassette/running.ts';
import { withRawServer } from '../../../support/raw-server.ts';
import { runningCassette } from '../../../support/running-cassette.ts';

const test = suite('answers with an odd head');

const remotely = (bytes: string, use: (running: RunningCassette) => Promise<void>): Promise<void> =>
  withRawServer(bytes, async (port) => {
    const running = startRemote({ address: new URL(`http://127.0.0.1:${port}/openapi`), name: 'far' });
    try {
      await use(running);
    } finally {
      await running.close(100);
    }
  });

const thrown = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

const ask = (running: Pick<RunningCassette, 'fetch'>, init?: RequestInit) =>
  running.fetch(new Request('http://cassette/api/far/x', { signal: AbortSignal.timeout(10_000), ...init }));

const rest = 'content-length: 2\r\n\r\nok';

for (const status of ['999', '600', '000', '099'])
  test(`a remote cassette that answers status ${status} broke over this request`, async () => {
    for (const method of ['GET', 'HEAD'])
      await remotely(`HTTP/1.1 ${status} X\r\n${rest}`, async (running) => {
        const error = await thrown(ask(running, { method }));
        assert.instance(error, CassetteDown, method);
        assert.is((error as CassetteDown).kind, 'broken');
        assert.match((error as Error).message, /^Cannot ask "far" at .*: its answer has the status \d+$/);
      });
  });

test('a remote cassette that answers status 999 is a 502 at the mount', async () => {
  await remotely(`HTTP/1.1 999 X\r\n${rest}`, async (running) => {
    const error = await thrown(
      mounted({
        ...runningCassette('far', running.fetch),
        ...{ request: new Request('http://localhost/v1/cassettes/far/x'), name: 'far' },
        ...{ forwardAuth: false, caller: null, requestId: 'x', peer: null, gone: new AbortController().signal },
      }),
    );
    assert.is((error as { code?: string }).code, 'cassette-broken');
  });
});

const BROKEN: Record<string, string> = {
  'a protocol that nobody asked for': 'HTTP/1.1 101 Sure\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
  'a length that is none': 'HTTP/1.1 200 X\r\ncontent-length: five\r\n\r\nhello',
  'two lengths': 'HTTP/1.1 200 X\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!',
  'a header without a name': 'HTTP/1.1 200 X\r\n: x\r\ncontent-length: 2\r\n\r\nok',
  'a header with a space in its name': 'HTTP/1.1 200 X\r\na b: x\r\ncontent-length: 2\r\n\r\nok',
  'a header with a control character': 'HTTP/1.1 200 X\r\na: \x01x\x00\r\ncontent-length: 2\r\n\r\nok',
  'no HTTP': 'hello\r\n\r\n',
  nothing: '',
};
for (const [what, bytes] of Object.entries(BROKEN))
  test(`a remote cassette that answers ${what} broke over this request`, async () => {
    await remotely(bytes, async (running) => {
      const error = await thrown(ask(running));
      assert.instance(error, CassetteDown, what);
      assert.is((error as CassetteDown).kind, 'broken');
    });
  });

test('a body where there can be none is left out', async () => {
  for (const status of [204, 304])
    await remotely(`HTTP/1.1 ${status} X\r\ncontent-length: 2\r\n\r\nok`, async (running) => {
      const answer = await ask(running);
      assert.is(answer.status, status);
      assert.is(await answer.text(), '');
    });
});

test('words beside the status, and letters that are no ASCII, pass', async () => {
  await remotely(`HTTP/1.1 200 \xe9\xff\r\nx-a: \xe9\r\n${rest}`, async (running) => {
    const answer = await ask(running);
    assert.is(answer.headers.get('x-a'), '\xe9');
    assert.is(await answer.text(), 'ok');
  });
});

/** HTTP/2 as a process could write it that does not speak through our runner: one answer to the first request. */
const framed = (type: number, flags: number, stream: number, payload: Buffer): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
};
const text = (value: string) => Buffer.concat([Buffer.from([value.length]), Buffer.from(value, 'latin1')]);
const literal = (name: string, value: string) => Buffer.concat([Buffer.from([0]), text(name), text(value)]);
const HEADERS = 1;
const SETTINGS = 4;
const END_STREAM_AND_HEADERS = 5;

async function channelled(status: string, headers: Record<string, string>): Promise<unknown> {
  const block = Buffer.concat([
    ...[Buffer.from([8]), text(status)],
    ...Object.entries(headers).map(([name, value]) => literal(name, value)),
  ]);
  const bytes = [
    framed(SETTINGS, 0, 0, Buffer.alloc(0)),
    framed(SETTINGS, 1, 0, Buffer.alloc(0)),
    framed(HEADERS, END_STREAM_AND_HEADERS, 1, block),
  ];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.write(Buffer.concat(bytes)));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const socket = dial(typeof address === 'object' && address !== null ? address.port : 0, '127.0.0.1');
  const channel = openChannel(socket, { name: 'near', ended: () => Promise.resolve('it ended') });
  try {
    return await thrown(channel.fetch(new Request('http://cassette/x', { signal: AbortSignal.timeout(5_000) })));
  } finally {
    channel.close();
    socket.destroy();
    server.close();
  }
}

for (const status of ['999', '600', '000', '099'])
  test(`a process whose channel says status ${status} broke over this request`, async () => {
    const error = await channelled(status, {});
    assert.instance(error, CassetteDown);
    assert.is((error as CassetteDown).kind, 'broken');
  });

test('a process whose channel says a length that is none broke over this request', async () => {
  const error = await channelled('200', { 'content-length': 'five' });
  assert.instance(error, CassetteDown);
});

test('a process whose channel says an ordinary head is answered with it', async () => {
  assert.is(await channelled('299', { 'x-a': 'b' }), undefined);
});

test.run();
