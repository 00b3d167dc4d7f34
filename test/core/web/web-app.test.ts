/** Is the web UI served where it should be, open as far as it should be, and with the headers that keep it harmless? */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { loadConfig } from '../../../core/config/load.ts';
import { OperatorError } from '../../../core/errors.ts';
import { builtAssets, openAssets } from '../../../core/web/assets.ts';
import { webApp } from '../../../core/web/web-app.ts';
import { testApi } from '../../support/read-api.ts';
import { bundled } from '../../support/web.ts';

const test = suite('the web UI as it is served');

const TOKEN = 'open-sesame-1';
const ID = '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10';
const DOCUMENTS = [
  ...['/', '/sessions', `/sessions/${ID}`, `/sessions/${ID}/time`, `/sessions/${ID}/calls/7/bytes`, '/spans/a/b'],
  ...['/spend', '/find', '/compare', '/skills', `/skills/${ID}`, '/cassettes', '/health', '/help'],
];
/** As the design of the UI has them. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; worker-src 'self'; " +
    "font-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; " +
    'trusted-types svc-worker',
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), clipboard-read=()',
  'cache-control': 'no-cache',
  'content-type': 'text/html; charset=utf-8',
};

const assets = openAssets(builtAssets());
const ui = ({ token = '', basePath = '', from = assets } = {}) =>
  testApi({ token, pages: webApp({ assets: from, basePath, version: '1.2.3', wantsToken: token !== '' }) });
const manifest = async () => {
  const found = await assets.manifest();
  if (found === null) throw new Error('the client is not bundled');
  return found;
};

test.before(async () => {
  await bundled();
});

test('no prefix begins as one of its addresses does', () => {
  for (const path of DOCUMENTS.filter((one) => one !== '/')) {
    const flags = { 'api.base_path': path.split('/').slice(0, 2).join('/') };
    assert.throws(
      () => loadConfig({ flags, env: {}, cwd: '/nowhere', home: '/nowhere' }),
      (error: unknown) =>
        error instanceof OperatorError && error.message.includes('where the read API has paths of its own'),
      path,
    );
  }
});

test('each of its addresses is the same document, with its headers to the letter', async () => {
  for (const path of DOCUMENTS)
    for (const method of ['GET', 'HEAD']) {
      const response = await ui().request(path, { method });
      assert.is(response.status, 200, path);
      for (const [name, value] of Object.entries(HEADERS)) assert.is(response.headers.get(name), value, name);
      assert.not.match([...response.headers].join(), 'unsafe-');
    }
  const [first = '', ...others] = await Promise.all(
    DOCUMENTS.map(async (path) =>
      (await (await ui().request(path)).text()).replace(/^<link rel="(?:module)?preload".*\n/gm, ''),
    ),
  );
  for (const other of others) assert.is(other, first);
});

test('it has two kilobytes at most, nothing inline, and names what is built', async () => {
  const { main, style } = await manifest();
  const text = await (await ui().request(`/sessions/${ID}`)).text();
  assert.ok(Buffer.byteLength(text) <= 2048, `${Buffer.byteLength(text)} bytes`);
  assert.match(text, `<script type="module" src="/ui/${main}"></script>`);
  if (style !== null) assert.match(text, `href="/ui/${style}"`);
  assert.match(text, '<html lang="en" data-base="" data-version="1.2.3">');
  assert.not.match(text, /<style|style=|\son\w+=|<script>|<base/);
  assert.match(text, '<noscript>');
});

test('what a page reads first is loaded ahead, where no token is required', async () => {
  const preloads = async (path: string, token = '') =>
    [...(await (await ui({ token }).request(path)).text()).matchAll(/<link rel="preload".*>/g)].map(([link]) => link);
  const link = `<link rel="preload" as="fetch" href="/v1/sessions/${ID}/outline" crossorigin>`;
  const start = link.replace('/outline', '/outline?order=oldest&amp;limit=300');
  const session = link.replace('/outline', '');
  for (const path of ['', '/', '/talk']) assert.equal(await preloads(`/sessions/${ID}${path}`), [start, session]);
  const around = link.replace('/outline', `/outline?around=${ID}&amp;limit=300`);
  for (const path of [`?span=${ID}`, `/talk?thread=main&span=${ID}`])
    assert.equal(await preloads(`/sessions/${ID}${path}`), [around, session], path);
  for (const path of ['?span=x', '?thread=main', '/time', `/time?span=${ID}`])
    assert.equal(await preloads(`/sessions/${ID}${path}`), [link, session]);
  assert.equal(await preloads(`/sessions/${ID}/calls/7`), [link]);
  assert.equal(await preloads(`/sessions/${ID}`, TOKEN), []);
  const sessions = '<link rel="preload" as="fetch" href="/v1/browse/sessions?limit=50" crossorigin>';
  for (const path of ['/sessions', '/']) {
    assert.equal(await preloads(path), [sessions], path);
    assert.equal(await preloads(path, TOKEN), [], path);
    assert.equal(await preloads(`${path}?status=failed`), [], path);
  }
  for (const path of [`/sessions/${ID}x`, `/skills/${ID}`, '/sessions/%22%3E%3Cscript%3E'])
    assert.equal(await preloads(path), [], path);
  const hostile = await (await ui().request('/sessions/%22%3E%3Cimg%20src=x%3E')).text();
  assert.not.match(hostile, '<img');
});

test('behind a prefix all that it names has the prefix', async () => {
  const text = await (await ui({ basePath: '/svc' }).request(`/sessions/${ID}`)).text();
  assert.match(text, 'data-base="/svc"');
  const named = [...text.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, path]) => path);
  assert.ok(named.length > 4);
  for (const path of named) assert.match(path ?? '', /^\/svc\//);
});

test('without it each of its addresses is a 404 problem; the contract is the same to the byte', async () => {
  for (const path of [...DOCUMENTS, '/ui/x', `/ui/${(await manifest()).main}`]) {
    const response = await testApi().request(path);
    assert.is(response.status, 404, path);
    assert.is(response.headers.get('content-type'), 'application/problem+json');
  }
  const contract = async (app: ReturnType<typeof testApi>) => (await app.request('/openapi')).text();
  assert.is(await contract(ui()), await contract(testApi()));
});

test('a file comes in the coding that is accepted, for good, and as it was built', async () => {
  const { main, files } = await manifest();
  const built = await readFile(join(builtAssets(), main));
  for (const [accepted, coding, decoded] of [
    ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['identity', null, (bytes: Uint8Array) => Buffer.from(bytes)],
    [undefined, null, (bytes: Uint8Array) => Buffer.from(bytes)],
  ] as const) {
    const headers: Record<string, string> = accepted === undefined ? {} : { 'accept-encoding': accepted };
    const response = await ui().request(`/ui/${main}`, { headers });
    const bytes = new Uint8Array(await response.arrayBuffer());
    assert.is(response.headers.get('content-encoding'), coding);
    assert.ok(decoded(bytes).equals(built));
    assert.is(response.headers.get('content-length'), String(bytes.byteLength));
    assert.is(response.headers.get('cache-control'), 'public, max-age=31536000, immutable');
    assert.is(response.headers.get('content-type'), 'text/javascript; charset=utf-8');
    assert.is(response.headers.get('x-content-type-options'), 'nosniff');
    assert.is(response.headers.get('vary'), 'accept-encoding');
    assert.not.match(response.headers.get('content-security-policy') ?? '', /unsafe-|connect-src (?!'none')/);
    if (coding !== null) assert.is(bytes.byteLength, files[main]?.[coding === 'br' ? 'br' : 'gzip']);
  }
});

test('no name leads to another file, and no file has a map', async () => {
  const { files } = await manifest();
  for (const name of ['manifest.json', 'x.js', `${Object.keys(files)[0]}.br`, '..%2fweb-app.js', '', 'toString'])
    assert.is((await ui().request(`/ui/${name}`)).status, 404, name);
  assert.equal(
    Object.keys(files).filter((name) => !/-(?:[A-Z0-9]{8}|[0-9a-f]{8})\.(js|css|svg|txt)$/.test(name)),
    [],
  );
  for (const name of Object.keys(files))
    assert.not.match(await readFile(join(builtAssets(), name), 'utf8'), 'sourceMappingURL');
});

test('with a token the documents and files are open, and nothing else', async () => {
  const app = ui({ token: TOKEN });
  const { main } = await manifest();
  for (const path of [...DOCUMENTS, `/ui/${main}`]) assert.is((await app.request(path)).status, 200, path);
  assert.is((await app.request('/ui/nothing.js')).status, 404);
  for (const path of ['/v1/sessions', '/openapi', '/sessionsx', '/uix', '/v1/cassettes', '/spans', '/nothing'])
    assert.is((await app.request(path)).status, 401, path);
  for (const method of ['POST', 'DELETE']) assert.is((await app.request('/sessions', { method })).status, 405);
});

const LINK = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };

test('a link on another site opens a document, and nothing else', async () => {
  const { main } = await manifest();
  for (const site of ['cross-site', 'same-site'])
    for (const path of DOCUMENTS)
      assert.is((await ui().request(path, { headers: { ...LINK, 'sec-fetch-site': site } })).status, 200, path);
  for (const path of ['/v1/sessions', '/openapi', '/ping', '/swagger', `/ui/${main}`, '/v1/cassettes/x/y'])
    assert.is((await ui().request(path, { headers: LINK })).status, 403, path);
  const other: [string, Record<string, string>][] = [
    ['a frame', { ...LINK, 'sec-fetch-dest': 'iframe' }],
    ['an object', { ...LINK, 'sec-fetch-dest': 'object' }],
    ['a fetch', { ...LINK, 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }],
    ['a fetch that shows nothing', { ...LINK, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'empty' }],
    ['with an origin', { ...LINK, origin: 'http://evil.example' }],
    ['under another name', { ...LINK, host: 'evil.example' }],
    ['without a destination', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }],
  ];
  for (const [what, headers] of other) assert.is((await ui().request('/sessions', { headers })).status, 403, what);
  for (const method of ['POST', 'HEAD', 'DELETE'])
    assert.is((await ui().request('/sessions', { method, headers: LINK })).status, 403, method);
  assert.is((await testApi().request('/sessions', { headers: LINK })).status, 403, 'where there is no UI');
});

test('what was never built says what to do', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-assets-'));
  const response = await ui({ from: openAssets(folder) }).request('/');
  assert.is(response.status, 503);
  assert.match(await response.text(), "it was never built; run 'npm run build'");
  await rm(folder, { recursive: true });
});

test.run();
