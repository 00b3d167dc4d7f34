import type { Duplex } from 'node:stream';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { echo } from '../support/upstream.ts';
import { answerTo, closeStands, openStand, rawClient, readAnswer, until } from './stand.ts';

const test = suite('proxy: upgrades');
test.after.each(closeStands);

const handshake = (path: string, more = '') =>
  `GET ${path} HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: abc\r\nx-svc-harness-id: x\r\n${more}\r\n`;

test('an upgrade becomes a tunnel of raw bytes, both ways', async () => {
  const stand = await openStand([{}]);
  let theirs: Duplex | undefined;
  let upgrade: { url?: string; raw: string[] } | undefined;
  stand.upstream.onUpgrade((incoming, socket, head) => {
    upgrade = { url: incoming.url ?? '', raw: incoming.rawHeaders };
    theirs = socket;
    socket.write('HTTP/1.1 101 Sure\r\nUPGRADE: websocket\r\nConnection: Upgrade\r\nX-Own: 1\r\n\r\nfirst');
    socket.write(head);
    socket.on('data', (bytes) => socket.write(bytes));
    socket.on('end', () => socket.end());
    socket.on('error', () => {});
  });
  const client = await rawClient(stand.port, `${handshake('/openai/v1/responses?x=%2F')}\x00\xffhead`);
  await client.sees('\x00\xffhead');
  assert.is(
    client.received().toString('latin1'),
    'HTTP/1.1 101 Sure\r\nUPGRADE: websocket\r\nConnection: Upgrade\r\nX-Own: 1\r\n\r\nfirst\x00\xffhead',
  );
  assert.equal(upgrade, {
    url: '/v1/responses?x=%2F',
    raw: [
      ...['Host', `127.0.0.1:${stand.upstream.port}`, 'Sec-WebSocket-Key', 'abc'],
      ...['Connection', 'keep-alive, Upgrade', 'Upgrade', 'websocket'],
    ],
  });
  const large = Buffer.alloc(3_000_000, 'z');
  client.socket.write(large);
  await until(() => client.received().length > large.length);
  client.socket.end();
  await client.closed;
  await until(() => theirs?.destroyed === true, 'the end of the upstream’s side');
  assert.equal(stand.counted, ['openai unsupported_format']);
});

test('an end on either side ends the other', async () => {
  const stand = await openStand([{}]);
  const theirs: Duplex[] = [];
  stand.upstream.onUpgrade((_incoming, socket) => {
    socket.on('error', () => {});
    socket.on('end', () => socket.end());
    socket.resume();
    theirs.push(socket);
    socket.write('HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  });
  const first = await rawClient(stand.port, handshake('/a'));
  await first.sees('101');
  theirs[0]?.destroy();
  await first.closed;
  const second = await rawClient(stand.port, handshake('/b'));
  await second.sees('101');
  second.socket.destroy();
  await until(() => theirs[1]?.destroyed === true);
  const third = await rawClient(stand.port, handshake('/c'));
  await third.sees('101');
  await stand.proxy.close(20);
  await third.closed;
});

test('a refusal goes back as it came, and the connection ends with it', async () => {
  const stand = await openStand([{}]);
  stand.upstream.onUpgrade((_incoming, socket) => {
    socket.end('HTTP/1.1 426 Not so\r\nX-Reason: a\r\nX-Reason: b\r\nContent-Length: 5\r\n\r\nsorry');
  });
  const answer = readAnswer(await answerTo(stand.port, handshake('/v1/responses')));
  assert.equal(answer, {
    status: 'HTTP/1.1 426 Not so',
    headers: ['X-Reason: a', 'X-Reason: b', 'Content-Length: 5', 'Connection: close'],
    body: Buffer.from('sorry'),
  });
  assert.equal(stand.counted, ['anthropic unsupported_format']);
});

test('an upstream that cannot be reached', async () => {
  const stand = await openStand([], { upstreamUrl: 'http://127.0.0.1:9' });
  const answer = readAnswer(await answerTo(stand.port, handshake('/openai/v1/responses')));
  assert.is(answer.status, 'HTTP/1.1 502 Bad Gateway');
  assert.is(JSON.parse(answer.body.toString()).error.type, 'upstream_error');
});

test('an offer of HTTP/2 is passed over: the call is an ordinary one, body and connection included', async () => {
  const stand = await openStand([echo]);
  const offer = (body: string) =>
    `POST /v1/messages HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const client = await rawClient(stand.port, offer('one').slice(0, -2)); // the body comes in two parts
  await until(() => stand.upstream.requests.length === 1);
  client.write('ne');
  await client.sees('\r\n\r\none');
  client.write(offer('two'));
  await client.sees('\r\n\r\ntwo');
  client.write('POST /openai/v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nthree');
  await client.sees('\r\n\r\nthree');
  assert.equal(await stand.outcomes(3), ['anthropic captured', 'anthropic captured', 'openai captured']);
  assert.is(stand.upstream.requests[0]?.headers.upgrade, undefined);
  assert.is(stand.upstream.requests[0]?.headers['http2-settings'], undefined);
  client.socket.destroy();
});

test.run();
