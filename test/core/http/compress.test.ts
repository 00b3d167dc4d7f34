import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { acceptedCoding, compress } from '../../../core/http/compress.ts';
import { documentApp } from '../../../core/http/document.ts';
import { jsonStream } from '../../../core/http/json-stream.ts';
import { routes } from '../../../core/http/routes.ts';
import { openLog } from '../../../core/log.ts';

const test = suite('compress');

const LARGE = JSON.stringify({ text: 'ä'.repeat(2_000) });

const app = routes();
app.use(compress());
app.get('/large', (c) => c.body(LARGE, 200, { 'content-type': 'application/json' }));
app.get('/small', (c) => c.json({ text: 'x'.repeat(1_000) }));
app.get('/just', (c) => c.text('x'.repeat(1_024)));
app.get('/plain', (c) => c.body(LARGE, 200, { 'content-type': 'application/json', 'cache-control': 'no-transform' }));
app.get('/coded', (c) => c.body(LARGE, 200, { 'content-type': 'text/plain', 'content-encoding': 'zstd' }));
app.get('/image', (c) => c.body(LARGE, 200, { 'content-type': 'image/png' }));
app.get('/events', (c) => c.body(LARGE, 200, { 'content-type': 'text/event-stream' }));
app.get('/lines', (c) => c.body(LARGE, 200, { 'content-type': 'application/x-ndjson' }));
app.get('/varies', (c) => c.body(LARGE, 200, { 'content-type': 'text/html; charset=utf-8', vary: 'origin' }));
app.get('/problem', (c) => c.body(LARGE, 400, { 'content-type': 'application/problem+json' }));
app.get('/none', (c) => c.body(null, 204));
app.get('/stream', (c) =>
  jsonStream(
    c,
    (async function* () {
      for (let n = 0; n < 20; n++) yield `${n}`.padEnd(30_000);
    })(),
    openLog('silent'),
  ),
);
app.route(
  '/',
  documentApp(() => ({ openapi: LARGE }), {}),
);

const ask = async (path: string, accepted?: string, method = 'GET', more: Record<string, string> = {}) => {
  const headers = { ...(accepted === undefined ? {} : { 'accept-encoding': accepted }), ...more };
  const response = await app.request(path, { method, headers });
  const bytes = Buffer.from(await response.arrayBuffer());
  const of = (name: string) => response.headers.get(name);
  return { status: response.status, bytes, coding: of('content-encoding'), vary: of('vary'), of };
};

test('a large text comes in the coding that the caller takes, and is the same text', async () => {
  const gzip = await ask('/large', 'gzip');
  assert.equal([gzip.coding, gunzipSync(gzip.bytes).toString()], ['gzip', LARGE]);
  const br = await ask('/large', 'gzip, deflate, br, zstd');
  assert.equal([br.coding, brotliDecompressSync(br.bytes).toString()], ['br', LARGE]);
  const plain = await ask('/large');
  assert.equal([plain.coding, plain.bytes.toString()], [null, LARGE]);
  for (const { bytes, of, vary } of [gzip, br, plain]) {
    assert.is(of('content-length'), String(bytes.length));
    assert.is(vary, 'accept-encoding', 'a cache must know, also of the plain one');
    assert.is(of('content-type'), 'application/json');
  }
  for (const path of ['/problem', '/just', '/varies']) assert.is((await ask(path, 'gzip')).coding, 'gzip', path);
  assert.is((await ask('/problem', 'gzip')).status, 400);
  assert.is((await ask('/varies', 'gzip')).vary, 'origin, accept-encoding');
});

test('what is small, encoded, no text, or not to be transformed stays as it is', async () => {
  for (const path of ['/small', '/plain', '/image', '/events', '/lines', '/none'])
    assert.is((await ask(path, 'br, gzip')).coding, null, path);
  assert.is((await ask('/coded', 'gzip')).coding, 'zstd');
  assert.equal([(await ask('/none', 'gzip')).status, (await ask('/none', 'gzip')).of('content-length')], [204, null]);
});

test('a stream is never held back: it comes as it is made', async () => {
  const response = await app.request('/stream', { headers: { 'accept-encoding': 'gzip' } });
  assert.equal([response.headers.get('content-encoding'), response.headers.get('content-length')], [null, null]);
  const reader = response.body?.getReader();
  const first = await reader?.read();
  assert.ok((first?.value?.byteLength ?? 0) < 100_000, 'the first piece, not all of them');
  await reader?.cancel();
});

test('HEAD has the headers of GET and no body', async () => {
  for (const path of ['/large', '/small', '/problem', '/stream', '/openapi', '/none'])
    for (const accepted of [undefined, 'gzip', 'br']) {
      const [get, head] = [await ask(path, accepted), await ask(path, accepted, 'HEAD')];
      assert.is(head.bytes.length, 0);
      for (const name of ['content-length', 'content-encoding', 'content-type', 'etag', 'vary'])
        assert.is(head.of(name), get.of(name), `${path} ${accepted}: ${name}`);
      assert.is(head.status, get.status);
    }
});

test('a tag tells nobody that the bytes are the same when they are not', async () => {
  const plain = await ask('/openapi');
  const gzip = await ask('/openapi', 'gzip');
  assert.match(plain.of('etag') ?? '', /^"/);
  assert.is(gzip.of('etag'), `W/${plain.of('etag')}`);
  for (const [held, accepted] of [
    [plain, undefined],
    [gzip, 'gzip'],
    [gzip, undefined],
    [plain, 'gzip'],
  ] as const) {
    const again = await ask('/openapi', accepted, 'GET', { 'if-none-match': held.of('etag') ?? '' });
    const whole = await ask('/openapi', accepted);
    assert.equal([again.status, again.bytes.length, again.coding], [304, 0, null]);
    for (const name of ['etag', 'vary', 'cache-control']) assert.is(again.of(name), whole.of(name), name);
  }
});

test('what the caller likes best is taken, and nothing that it refuses', () => {
  for (const [header, wanted] of [
    [undefined, null],
    ['', null],
    ['identity', null],
    ['deflate, zstd', null],
    ['gzip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['gzip, br', 'br'],
    ['gzip;q=1, br;q=0.5', 'gzip'],
    ['gzip;q=0.5,br;q=0.5', 'br'],
    ['*', 'br'],
    ['br;q=0, *', 'gzip'],
    ['gzip;q=0', null],
    ['gzip; q=0.000, br;q=0', null],
    ['*;q=0, gzip', 'gzip'],
    ['gzip;q=nonsense', null],
    ['gzip;level=9', 'gzip'],
  ] as const)
    assert.is(acceptedCoding(header), wanted, String(header));
});

test.run();
