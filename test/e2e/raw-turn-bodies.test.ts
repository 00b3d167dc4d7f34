/** What passed comes back from the running service: as it was on the wire, and decoded in the engine's thread, whatever it is. */
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { chat, chatAnswer } from '../support/captured-calls.ts';
import { folderWithDatabase } from '../support/folder-with-database.ts';
import { eventually, read, removeFolder, type Service, startService } from '../support/serve.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';
import { zstdStored } from '../support/zstd-store.ts';

type Context = { folder: string; upstream: ScriptedUpstream; service: Service };

const ANSWER = chatAnswer('Hi');
const BODIES: [coding: string, body: Buffer][] = [
  ['gzip', gzipSync(ANSWER)],
  ['br', brotliCompressSync(ANSWER)],
  ['zstd', zstdStored(Buffer.from(ANSWER))],
  ['gzip', Buffer.from('no gzip')],
  ['br', brotliCompressSync(Buffer.alloc(51 * 2 ** 20))],
];

const test = suite<Context>('bodies of raw turns from a running service');

test.before(async (context) => {
  context.folder = await folderWithDatabase();
  context.upstream = await startUpstream(
    BODIES.map(([coding, body]) => ({
      rawHeaders: ['content-type', 'application/json', 'content-encoding', coding],
      body,
    })),
  );
  context.service = await startService(context.folder, { SVC_PROXY_UPSTREAMS_OPENAI: context.upstream.url });
});

test.after(async ({ folder, upstream, service }) => {
  await service.stop();
  await upstream.close();
  await removeFolder(folder);
});

test('each body is what the provider sent, and its text what that meant', async ({ service: { proxy, api } }) => {
  for (const n of BODIES.keys()) {
    const headers = { 'content-type': 'application/json', authorization: 'Bearer sk-test' };
    const body = JSON.stringify(chat(`Question ${n}`));
    const response = await fetch(`${proxy}/openai/v1/chat/completions`, { method: 'POST', headers, body });
    await response.arrayBuffer().catch(() => {});
  }
  const turn = (n: number, path = '') => `${api}/v1/raw_turns/${n + 1}${path}`;
  const last = await eventually('the last call', async () => (await fetch(turn(BODIES.length - 1))).ok);
  assert.ok(last);
  for (const [n, [coding, body]] of BODIES.entries()) {
    const head = await read<{ request: object; response: { content_encoding: string } }>(turn(n));
    assert.is(head.response.content_encoding, coding);
    assert.not.match(JSON.stringify(head.request), 'sk-test');
    assert.is(await (await fetch(turn(n, '/request?as=decoded'))).text(), JSON.stringify(chat(`Question ${n}`)));
    const wire = await fetch(turn(n, '/response'));
    assert.ok(Buffer.from(await wire.arrayBuffer()).equals(body), `${coding} ${n}`);
    const range = await fetch(turn(n, '/response'), { headers: { range: 'bytes=1-2' } });
    assert.equal([range.status, Buffer.from(await range.arrayBuffer())], [206, body.subarray(1, 3)]);
    const decoded = await fetch(turn(n, '/response?as=decoded'));
    if (n < 3) assert.equal([decoded.status, await decoded.text()], [200, ANSWER], `${coding} ${n}`);
    else assert.equal([decoded.status, ((await decoded.json()) as { code: string }).code], [422, 'body-undecodable']);
  }
});

test('a page that asks for twelve bodies at once gets them all', async ({ service: { api } }) => {
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) => fetch(`${api}/v1/raw_turns/${1 + (n % 3)}/response?as=decoded`)),
  );
  for (const answer of answers) {
    assert.equal([answer.status, await answer.text()], [200, ANSWER]);
    assert.match(answer.headers.get('server-timing') ?? '', /^total;dur=[\d.]+, db;dur=[\d.]+$/);
  }
});

test.run();
