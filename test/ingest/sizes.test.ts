/** On a real socket: what is too large is refused unread, and who is still sending gets to read so. */
import { once } from 'node:events';
import { request } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MAX_INGEST_BYTES } from '../../core/model/ingest.ts';
import { eventually } from '../support/eventually.ts';
import { head, SIZE_ANSWER, serveIngest, speak, writes } from './stand.ts';

const test = suite('sizes of ingest bodies, on a socket');

const OVER = MAX_INGEST_BYTES + 1;
const MIB = 1024 * 1024;
const json = { 'content-type': 'application/json' };
const chunk = (bytes: Uint8Array) =>
  Buffer.concat([Buffer.from(`${bytes.byteLength.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);

/** A stream of so many bytes, which `fetch` sends in chunks without a length. */
const streamOf = (length: number) => {
  let left = length;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const size = Math.min(left, MIB);
      if (size > 0) controller.enqueue(new Uint8Array(size));
      left -= size;
      if (left === 0) controller.close();
    },
  });
};

const posting = (body: BodyInit) => ({ method: 'POST', headers: json, body, duplex: 'half' }) as RequestInit;

test('exactly the limit passes, declared or in chunks', async () => {
  const stand = await serveIngest();
  for (const body of [new Uint8Array(MAX_INGEST_BYTES), streamOf(MAX_INGEST_BYTES)])
    assert.is((await fetch(`${stand.address}/v1/ingest`, posting(body))).status, 202);
  assert.equal(
    stand.taken.map(({ body }) => body.byteLength),
    [MAX_INGEST_BYTES, MAX_INGEST_BYTES],
  );
  assert.is(await writes(stand, 'reject_oversize'), 0);
  await stand.close(0);
});

test('a declared length over the limit is 413 before a byte of it was sent, on every path', async () => {
  const stand = await serveIngest();
  for (const path of ['/v1/ingest', '/nothing', '/ping']) {
    const client = speak(stand.port);
    client.socket.write(head({ 'content-length': OVER }, path));
    await eventually(() => client.heard().endsWith(SIZE_ANSWER));
    assert.match(client.heard(), /^HTTP\/1\.1 413 /);
    assert.match(client.heard(), /connection: close\r\n/i);
    client.socket.destroy();
  }
  assert.equal([await writes(stand, 'reject_oversize'), stand.taken.length], [3, 0]);
  await stand.close(0);
});

test('the connection is closed after it, also on who neither sends nor leaves', async () => {
  const stand = await serveIngest();
  const client = speak(stand.port);
  client.socket.write(head({ 'content-length': OVER }));
  assert.match(await client.closed(), /^HTTP\/1\.1 413 /);
  assert.is(client.failure(), '');
  await stand.close(0);
});

test('a body in chunks is counted as it comes, and cut at the limit', async () => {
  const stand = await serveIngest();
  const client = speak(stand.port);
  client.socket.write(head({ 'transfer-encoding': 'chunked' }));
  const mebibyte = chunk(new Uint8Array(MIB));
  for (let sent = 0; sent <= MAX_INGEST_BYTES; sent += MIB) client.socket.write(mebibyte);
  await eventually(() => client.heard().endsWith(SIZE_ANSWER)); // its last chunk was never sent
  assert.match(client.heard(), /^HTTP\/1\.1 413 /);
  assert.equal([await writes(stand, 'reject_oversize'), stand.taken.length], [1, 0]);
  const [line] = stand.logged();
  assert.equal([line.level, line.content_length, line.limit, line.path], [40, null, 15_379_114, '/v1/ingest']);
  client.socket.destroy();
  await stand.close(0);
});

test('a client that sends all it has before it reads gets the 413, not a reset', async () => {
  const stand = await serveIngest();
  for (const [framing, body] of [
    [{ 'content-length': 48 * MIB }, Buffer.alloc(48 * MIB)],
    [{ 'transfer-encoding': 'chunked' }, Buffer.concat(Array(48).fill(chunk(new Uint8Array(MIB))))],
  ] as const) {
    const client = speak(stand.port);
    client.socket.pause();
    client.socket.write(head(framing));
    await new Promise<void>((sent) => client.socket.write(body, () => sent())); // also called when that failed
    client.socket.write('0\r\n\r\n');
    client.socket.resume();
    await eventually(() => client.heard().endsWith(SIZE_ANSWER) || client.failure() !== '');
    assert.is(client.failure(), '');
    assert.match(client.heard(), /^HTTP\/1\.1 413 /);
    client.socket.destroy();
  }
  await stand.close(0);
});

test('clients as people use them read the 413 while they are still sending', async () => {
  const stand = await serveIngest();
  const url = `${stand.address}/v1/ingest`;
  for (const body of [new Uint8Array(40 * MIB), streamOf(40 * MIB)]) {
    const response = await fetch(url, posting(body));
    assert.equal([response.status, await response.text()], [413, SIZE_ANSWER]);
  }
  const outgoing = request(url, { method: 'POST', headers: json });
  outgoing.on('error', () => {}); // what it was still sending has nowhere to go
  outgoing.end(Buffer.alloc(40 * MIB));
  const [response] = await once(outgoing, 'response');
  let text = '';
  for await (const part of response) text += part;
  assert.equal([response.statusCode, text], [413, SIZE_ANSWER]);
  await stand.close(0);
});

test('who asks before sending is told 413 at once, and let send what may come', async () => {
  const stand = await serveIngest();
  const refused = speak(stand.port);
  refused.socket.write(head({ 'content-length': OVER, expect: '100-continue' }));
  await eventually(() => refused.heard().endsWith(SIZE_ANSWER));
  assert.match(refused.heard(), /^HTTP\/1\.1 413 /); // and not 100 before it
  refused.socket.destroy();

  const welcome = speak(stand.port);
  welcome.socket.write(head({ 'content-length': 2, expect: '100-continue', connection: 'close' }));
  await eventually(() => welcome.heard().includes('HTTP/1.1 100 Continue\r\n\r\n'));
  welcome.socket.write('{}');
  assert.match(await welcome.closed(), /HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 202 /);
  await stand.close(0);
});

test('who asks before sending, and is refused, is not taken for who sends', async () => {
  const stand = await serveIngest();
  const client = speak(stand.port);
  client.socket.write(head({ 'content-length': 2, expect: '100-continue', 'content-encoding': 'gzip' }));
  const heard = await client.closed();
  assert.match(heard, /^HTTP\/1\.1 415 /);
  assert.match(heard, /connection: close\r\n/i);
  await stand.close(0);
});

test.run();
