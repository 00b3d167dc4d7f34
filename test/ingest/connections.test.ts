/** On a real socket: slow senders, senders that leave, and many at once. */
import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type IngestVerdict, MAX_INGEST_BYTES } from '../../core/model/ingest.ts';
import { eventually } from '../support/eventually.ts';
import { head, KEPT, serveIngest, speak, writes } from './stand.ts';

const test = suite('connections of the ingest API');

const json = { 'content-type': 'application/json' };
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));
const answers = (heard: string) => [...heard.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

test('a body that comes slowly is the same bytes', async () => {
  const stand = await serveIngest();
  const text = '{"provider":"anthropic","request":{"é":"…"}}';
  const client = speak(stand.port);
  client.socket.setNoDelay(true).write(head({ 'content-length': Buffer.byteLength(text), connection: 'close' }));
  for (const byte of Buffer.from(text)) {
    client.socket.write(Uint8Array.of(byte));
    await pause(2);
  }
  assert.equal(answers(await client.closed()), [202]);
  assert.is(Buffer.from(stand.taken[0]?.body ?? []).toString(), text);
  await stand.close(0);
});

test('of a client that leaves while it sends nothing is kept', async () => {
  const stand = await serveIngest();
  for (const framing of [{ 'content-length': 100 }, { 'transfer-encoding': 'chunked' }]) {
    const client = speak(stand.port);
    client.socket.write(`${head(framing)}2\r\n{}\r\n`);
    await once(client.socket, 'connect');
    await pause(50);
    client.socket.destroy();
  }
  await eventually(async () => (await writes(stand, 'reject_envelope')) === 2);
  assert.is(stand.taken.length, 0);
  assert.equal(stand.logged(), []);
  await stand.close(0);
});

test('the turn of a client that leaves while it waits for the answer is kept all the same', async () => {
  let keep: (verdict: IngestVerdict) => void = () => {};
  let taken = '';
  const stand = await serveIngest({
    append: (body) => {
      taken = Buffer.from(body).toString();
      return new Promise((done) => {
        keep = done;
      });
    },
  });
  const client = speak(stand.port);
  client.socket.write(`${head({ 'content-length': 2 })}{}`);
  await eventually(() => taken === '{}');
  client.socket.destroy();
  await pause(50);
  keep(KEPT);
  await eventually(async () => (await writes(stand, 'accepted', 'anthropic')) === 1);
  assert.equal(stand.logged(), []);
  assert.is((await fetch(`${stand.address}/ping`)).status, 200);
  await stand.close(0);
});

test('a connection serves on after a rejection that has not read the body', async () => {
  const stand = await serveIngest();
  const client = speak(stand.port);
  const large = `"${'x'.repeat(300_000)}"`;
  for (const [n, headers] of [{}, { 'content-encoding': 'gzip' }, {}].entries()) {
    client.socket.write(head({ 'content-length': large.length, ...headers }) + large);
    await eventually(() => answers(client.heard()).length === n + 1);
  }
  assert.equal(answers(client.heard()), [202, 415, 202]);
  client.socket.destroy();
  await stand.close(0);
});

test('requests that are sent ahead are answered in turn', async () => {
  const stand = await serveIngest();
  const client = speak(stand.port);
  const one = `${head({ 'content-length': 2 })}{}`;
  const coded = `${head({ 'content-length': 2, 'content-encoding': 'br' })}{}`;
  client.socket.write(one + coded + one + head({ 'content-length': MAX_INGEST_BYTES + 1 }));
  await eventually(() => answers(client.heard()).length === 4);
  assert.equal(answers(client.heard()), [202, 415, 202, 413]);
  client.socket.destroy();
  await stand.close(0);
});

test('bodies under way are bounded: past 64 MiB a sender is told to come again', async () => {
  const stand = await serveIngest();
  const open = [1, 2, 3, 4].map(() => speak(stand.port)); // four times 14.67 MiB are declared
  for (const { socket } of open) socket.write(head({ 'content-length': MAX_INGEST_BYTES }));
  const ask = (body: BodyInit) =>
    fetch(`${stand.address}/v1/ingest`, { method: 'POST', headers: json, body, duplex: 'half' } as RequestInit);
  const six = new Uint8Array(6 * 1024 * 1024);
  await eventually(async () => (await ask(six)).status === 503);
  const counted = await writes(stand, 'busy');
  const kept = stand.taken.length;

  const inChunks = new ReadableStream({
    start(controller) {
      controller.enqueue(six);
      controller.close();
    },
  });
  for (const body of [six, inChunks]) {
    const response = await ask(body);
    assert.equal([response.status, response.headers.get('retry-after')], [503, '1']);
    assert.equal(Object.keys((await response.json()) as object), ['error']);
  }
  assert.equal([await writes(stand, 'busy'), stand.taken.length], [counted + 2, kept]);
  assert.is((await ask('{}')).status, 202, 'a small one still fits');

  open[0]?.socket.destroy();
  await eventually(async () => (await ask(six)).status === 202); // its room is free again
  for (const { socket } of open) socket.destroy();
  await stand.close(0);
});

test('a body holds its room until it is answered', async () => {
  const waiting: ((verdict: IngestVerdict) => void)[] = [];
  const stand = await serveIngest({ append: () => new Promise((done) => waiting.push(done)) });
  const ask = () =>
    fetch(`${stand.address}/v1/ingest`, { method: 'POST', headers: json, body: new Uint8Array(MAX_INGEST_BYTES) });
  const four = [ask(), ask(), ask(), ask()];
  await eventually(() => waiting.length === 4);
  assert.is((await ask()).status, 503);
  for (const done of waiting) done(KEPT);
  assert.equal(
    (await Promise.all(four)).map(({ status }) => status),
    [202, 202, 202, 202],
  );
  await stand.close(0);
});

test('bytes that are no HTTP get the envelope', async () => {
  const stand = await serveIngest();
  for (const bytes of [
    'nonsense\r\n\r\n',
    head({ 'content-length': 'many' }),
    head({ 'content-length': 2, 'transfer-encoding': 'chunked' }),
    `${head({ 'transfer-encoding': 'chunked' })}zz\r\n`,
  ]) {
    const client = speak(stand.port);
    client.socket.write(bytes);
    const heard = await client.closed();
    assert.match(heard, /^HTTP\/1\.1 400 /);
    assert.match(heard, '{"error":"Cannot read the request: it is malformed"}');
  }
  assert.is(stand.taken.length, 0);
  await stand.close(0);
});

test.run();
