import type { ServerResponse } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { closeStands, openStand, rawClient, until } from './stand.ts';

const test = suite('proxy: bodies stream both ways');
test.after.each(closeStands);

const ask = 'POST /v1/messages HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}';

test('each frame of a stream arrives before the next one is sent', async () => {
  let outgoing: ServerResponse | undefined;
  const stand = await openStand([
    (_request, answering) => {
      outgoing = answering;
      answering.writeHead(200, ['content-type', 'text/event-stream']);
      answering.flushHeaders();
    },
  ]);
  const client = await rawClient(stand.port, ask);
  await client.sees('\r\n\r\n'); // the head, before there is a body
  for (let i = 0; i < 20; i++) {
    outgoing?.write(`event: n\ndata: ${i}\n\n`);
    await client.sees(`data: ${i}\n\n`);
  }
  outgoing?.end();
  await client.closed;
  assert.equal(await stand.outcomes(1), ['anthropic captured']);
  assert.is(
    Buffer.concat(stand.kept[0]?.replied ?? [])
      .toString()
      .match(/event/g)?.length,
    20,
  );
});

test('one byte at a time', async () => {
  const body = 'data: {"caf\u00e9": "\u{1f600}"}\r\n\r\n';
  const stand = await openStand([
    async (request, answering) => {
      await request.whole;
      answering.writeHead(200, [
        'content-type',
        'text/event-stream',
        'content-length',
        String(Buffer.byteLength(body)),
      ]);
      for (const byte of Buffer.from(body)) {
        answering.write(Buffer.of(byte));
        await new Promise((resolve) => setImmediate(resolve));
      }
      answering.end();
    },
  ]);
  const client = await rawClient(stand.port);
  for (const char of ask) {
    client.write(char);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await client.closed;
  assert.ok(client.received().includes(body));
  await stand.outcomes(1);
  assert.is(Buffer.concat(stand.kept[0]?.requestChunks ?? []).toString(), '{}');
  assert.is(Buffer.concat(stand.kept[0]?.replied ?? []).toString(), body);
});

test('the head of an upload goes up before its body, and each piece as it comes', async () => {
  const stand = await openStand([{}]);
  const client = await rawClient(stand.port, ask.replace('Length: 2', 'Length: 6').slice(0, -2));
  await until(() => stand.upstream.requests.length === 1, 'the head of the request');
  for (const piece of ['ab', 'cd', 'ef']) {
    client.write(piece);
    await until(() => stand.upstream.requests[0]?.body.toString().endsWith(piece) ?? false, piece);
  }
  await client.closed;
});

test('an answer that comes before the request has ended is passed, and the upload goes on', async () => {
  const stand = await openStand([
    (_request, answering) => {
      answering.writeHead(200, ['content-length', '5']);
      answering.end('early');
    },
  ]);
  const client = await rawClient(stand.port, ask.replace('Connection: close\r\n', '').slice(0, -2));
  await client.sees('early');
  assert.is(stand.counted.length, 0);
  client.write('{}');
  await until(() => stand.upstream.requests[0]?.body.toString() === '{}');
  assert.equal(await stand.outcomes(1), ['anthropic captured']);
  client.write('GET /again HTTP/1.1\r\nHost: h\r\n\r\n');
  await until(() => stand.upstream.requests.length === 2, 'the next request on the connection');
});

test('a slow reader pauses the upstream', async () => {
  const piece = Buffer.alloc(65_536, 'x');
  const total = 60_000_000;
  let sent = 0;
  let stalled = false;
  const stand = await openStand([
    async (_request, answering) => {
      answering.writeHead(200, ['content-type', 'application/octet-stream']);
      while (sent < total) {
        sent += piece.length;
        if (!answering.write(piece)) {
          stalled = true;
          await new Promise((resolve) => answering.once('drain', resolve));
          stalled = false;
        }
      }
      answering.end();
    },
  ]);
  const client = await rawClient(stand.port);
  client.socket.pause();
  client.write(ask);
  let before = -1;
  await until(() => {
    const still = stalled && sent === before;
    before = sent;
    return still;
  }, 'a pause of the upstream');
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.ok(sent < total / 2, `${sent} bytes were taken from the upstream with nobody reading`);
  client.socket.resume();
  await client.closed;
  assert.ok(client.received().length > total);
  assert.is((await stand.outcomes(1))[0], 'anthropic overflow'.replace('overflow', 'partial')); // larger than what is kept
  assert.is(stand.kept[0]?.closed?.cut, 'response');
  assert.is(stand.kept[0]?.closed?.ending, 'overflow');
});

test('a slow upstream pauses the upload', async () => {
  let taken = 0;
  let go = () => {};
  const stand = await openStand([
    async (request, answering, incoming) => {
      incoming.pause();
      await new Promise<void>((resolve) => {
        go = resolve;
      });
      incoming.resume();
      await request.whole;
      taken = request.body.length;
      answering.end('ok');
    },
  ]);
  const total = 60_000_000;
  const client = await rawClient(stand.port, ask.replace('Length: 2', `Length: ${total}`).slice(0, -2));
  client.write(Buffer.alloc(total, 'x'));
  let before = -1;
  await until(() => {
    const still = client.socket.bytesWritten - client.socket.writableLength === before;
    before = client.socket.bytesWritten - client.socket.writableLength;
    return still && stand.upstream.requests.length === 1;
  });
  const left = client.socket.writableLength;
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.ok(left > 0, 'the whole upload was taken with nobody reading it');
  go();
  await client.closed;
  assert.is(taken, total);
  assert.equal(await stand.outcomes(1), ['anthropic over_limit']);
  assert.is(stand.kept[0]?.closed?.request_bytes, total);
  assert.equal(stand.kept[0]?.requestChunks, []); // announced as too large, so nothing of it was copied
});

test.run();
