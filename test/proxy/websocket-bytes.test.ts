import { createHash } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { formatOf } from '../../core/provider/formats.ts';
import { echoEvents } from '../support/responses-socket.ts';
import { CLOSE, deflated, frame, PING, TEXT } from '../support/websocket-frames.ts';
import { answerTo, closeStands, openStand, rawClient, readAnswer, until } from './stand.ts';

const test = suite('proxy: the bytes of Responses sockets');
test.after.each(closeStands);

const AGREED = 'HTTP/1.1 101 Sure\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n';
const handshake = (more = '') =>
  `GET /openai/v1/responses HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: abc\r\n${more}\r\n`;

const create = JSON.stringify({
  type: 'response.create',
  model: 'gpt-5',
  input: 'Byte by byte',
  filler: 'f'.repeat(300),
});
const answer = echoEvents(JSON.parse(create), 1).map((event) => JSON.stringify(event));

/** What the upstream does with each connection after it has agreed; `received` grows. */
async function openRaw(agreement: string, joined: (socket: Duplex) => void = () => {}) {
  const stand = await openStand([{}], { deps: { formatOf } });
  const upstream = { received: [] as Buffer[], socket: null as Duplex | null };
  stand.upstream.onUpgrade((_incoming, socket, head) => {
    upstream.socket = socket;
    upstream.received.push(head);
    socket.on('error', () => {});
    socket.on('end', () => socket.end());
    socket.write(`${agreement}\r\n`);
    joined(socket);
  });
  const all = () => Buffer.concat(upstream.received);
  return { stand, upstream, all };
}

for (const compressed of [false, true]) {
  test(`every byte passes as it came, one at a time, ${compressed ? 'compressed' : 'as it is'}`, async () => {
    const extensions = compressed
      ? 'Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n'
      : '';
    const { stand, upstream, all } = await openRaw(`${AGREED}${extensions}`, (socket) =>
      socket.on('data', (bytes) => upstream.received.push(bytes)),
    );
    const body = (text: string) => (compressed ? deflated(text) : Buffer.from(text));
    const request = body(create);
    const clientBytes = Buffer.concat([
      frame(Buffer.from('ping'), { mask: true, opcode: PING }),
      frame(request.subarray(0, 10), { mask: true, fin: false, compressed }),
      frame(Buffer.from('between'), { mask: true, opcode: PING }),
      frame(request.subarray(10), { mask: true, opcode: 0 }),
    ]);
    const serverBytes = Buffer.concat(answer.map((text) => frame(body(text), { compressed })));
    const client = await rawClient(stand.port, handshake());
    await client.sees('\r\n\r\n');
    const before = client.received().length;
    for (const byte of clientBytes) {
      client.write(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => all().length >= clientBytes.length, 'the request');
    for (const byte of serverBytes) {
      upstream.socket?.write(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => client.received().length >= before + serverBytes.length, 'the answer');
    assert.ok(all().equals(clientBytes));
    assert.ok(client.received().subarray(before).equals(serverBytes));
    assert.equal(await stand.outcomes(2), ['openai not_a_turn', 'openai captured']);
    const [call] = stand.kept;
    assert.is(Buffer.concat(call?.requestChunks ?? []).toString(), create);
    assert.is(Buffer.concat(call?.replied ?? []).toString(), answer.map((text) => `${text}\n`).join(''));
    client.socket.destroy();
  });
}

test('a request of a hundred thousand members passes and is captured as it came', async () => {
  const { stand, upstream, all } = await openRaw(AGREED, (socket) =>
    socket.on('data', (bytes) => upstream.received.push(bytes)),
  );
  const members = Array.from({ length: 100_000 }, (_, n) => `"k${n}":${n}`).join(',');
  const request = create.replace(/\}$/, `,${members}}`);
  const sent = frame(request, { mask: true });
  const client = await rawClient(stand.port, handshake());
  await client.sees('\r\n\r\n');
  client.write(sent);
  await until(() => all().length >= sent.length, 'the request');
  upstream.socket?.write(Buffer.concat(answer.map((text) => frame(text))));
  assert.equal(await stand.outcomes(2), ['openai not_a_turn', 'openai captured']);
  assert.ok(all().equals(sent));
  const [call] = stand.kept;
  assert.is(Buffer.concat(call?.requestChunks ?? []).toString(), request);
  assert.is(Buffer.concat(call?.replied ?? []).toString(), answer.map((text) => `${text}\n`).join(''));
  client.socket.destroy();
});

test('reading the copy does not touch bytes that an upstream has yet to take', async () => {
  const { stand, upstream, all } = await openRaw(AGREED, (socket) => socket.pause());
  const text = JSON.stringify({ type: 'response.create', input: 'z'.repeat(12_000_000) });
  const pieces = text.match(/.{1,4000}/gs) ?? []; // a frame within a chunk is where a mask could be taken off in place
  const requestBytes = Buffer.concat(
    pieces.map((piece, i) => frame(piece, { mask: true, opcode: i === 0 ? TEXT : 0, fin: i === pieces.length - 1 })),
  );
  const client = await rawClient(stand.port, handshake());
  await client.sees('\r\n\r\n');
  client.socket.write(requestBytes);
  await new Promise((resolve) => setTimeout(resolve, 300)); // back-pressure: most of it waits
  upstream.socket?.on('data', (bytes) => upstream.received.push(bytes));
  upstream.socket?.resume();
  await until(() => all().length >= requestBytes.length, 'the request');
  const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
  assert.is(digest(all()), digest(requestBytes));
  client.socket.destroy();
  assert.equal(await stand.outcomes(2), ['openai not_a_turn', 'openai partial']);
  assert.is(Buffer.concat(stand.kept[0]?.requestChunks ?? []).toString(), text);
});

test('a client that reads slowly gets the last byte of an upstream that has left', async () => {
  const serverBytes = Buffer.alloc(6_000_000, 'q');
  const { stand } = await openRaw(AGREED, (socket) => socket.end(serverBytes));
  const client = await rawClient(stand.port);
  client.socket.pause();
  client.write(handshake());
  client.socket.on('data', () => {
    client.socket.pause();
    setTimeout(() => client.socket.resume(), 2);
  });
  client.socket.resume();
  await client.closed;
  assert.is(client.received().length, `${AGREED}\r\n`.length + serverBytes.length);
});

const unread: Record<string, { agreement: string; serverBytes: Buffer; outcomes: string[] }> = {
  'an extension that is unknown': {
    agreement: `${AGREED}Sec-WebSocket-Extensions: x-own; a=1\r\n`,
    serverBytes: frame(Buffer.from('as ever'), { opcode: TEXT }),
    outcomes: ['openai not_a_turn', 'openai unsupported_format'],
  },
  'no WebSocket at all': {
    agreement: AGREED,
    serverBytes: Buffer.from('\xff\xff\xff\xff and so on', 'latin1'),
    outcomes: ['openai not_a_turn', 'openai undecodable'],
  },
  'a body that is not what its compression promises': {
    agreement: `${AGREED}Sec-WebSocket-Extensions: permessage-deflate\r\n`,
    serverBytes: frame(Buffer.from('fefefefefefe', 'hex'), { compressed: true }),
    outcomes: ['openai not_a_turn', 'openai undecodable'],
  },
  'a frame longer than any': {
    agreement: AGREED,
    serverBytes: Buffer.from('817f0000ffffffffffff', 'hex'),
    outcomes: ['openai not_a_turn', 'openai over_limit'],
  },
};
for (const [what, { agreement, serverBytes, outcomes }] of Object.entries(unread)) {
  test(`${what} passes, and what it cost is recorded`, async () => {
    const { stand, upstream, all } = await openRaw(agreement, (socket) => {
      socket.on('data', (bytes) => upstream.received.push(bytes));
      socket.write(serverBytes);
    });
    const client = await rawClient(stand.port, handshake());
    await until(() => client.received().length >= agreement.length + 2 + serverBytes.length);
    client.write('still there');
    await until(() => all().includes('still there'));
    client.socket.end(frame(Buffer.alloc(0), { mask: true, opcode: CLOSE }));
    await client.closed;
    assert.ok(client.received().subarray(-serverBytes.length).equals(serverBytes));
    assert.equal(stand.counted, outcomes);
    assert.equal(stand.kept, []);
  });
}

for (const [status, reason] of [
  [426, 'Upgrade Required'],
  [401, 'Unauthorized'],
] as const) {
  test(`a refusal with ${status} passes with its body, so that the client falls back`, async () => {
    const stand = await openStand([{}], { deps: { formatOf } });
    const body = '{"error":{"message":"no sockets here"}}';
    stand.upstream.onUpgrade((_incoming, socket) => {
      socket.end(
        `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
    });
    const refusal = readAnswer(await answerTo(stand.port, handshake()));
    assert.is(refusal.status, `HTTP/1.1 ${status} ${reason}`);
    assert.is(refusal.body.toString(), body);
    assert.equal([stand.counted, stand.kept], [['openai not_a_turn'], []]);
  });
}

test('an upgrade to another protocol, or elsewhere, is a tunnel that is not read', async () => {
  const { stand } = await openRaw(AGREED);
  for (const head of [handshake().replace('responses', 'realtime'), handshake().replace('websocket', 'spdy/3')]) {
    const client = await rawClient(stand.port, head);
    await client.sees('\r\n\r\n');
    client.socket.destroy();
  }
  assert.equal(stand.counted, ['openai unsupported_format', 'openai unsupported_format']);
});

test.run();
