/** May a web page that somebody visits read or write here? A real browser on a real page of another origin tries all it has. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { internalApi } from '../../core/api/internal.ts';
import type { CassetteEvidence } from '../../core/cassette/evidence.ts';
import type { Database } from '../../core/db/database.ts';
import { refuseForeign } from '../../core/http/guards.ts';
import { serveApp } from '../../core/http/listen.ts';
import { openLog } from '../../core/log.ts';
import { builtAssets, openAssets } from '../../core/web/assets.ts';
import { webApp } from '../../core/web/web-app.ts';
import { serveIngest } from '../ingest/stand.ts';
import { openStand } from '../proxy/stand.ts';
import { type Json, testApi } from '../support/read-api.ts';
import { bundled } from '../support/web.ts';

const CHROMIUM = process.env.SVC_TEST_CHROMIUM ?? '/usr/bin/chromium';
const ARGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  // Every name leads to this machine: a page of evil.example is foreign, and rebound.example is a name that was pointed here.
  ...['--disable-component-update', '--disable-sync', '--host-resolver-rules=MAP * 127.0.0.1'],
];

/** What a page can do to an address; each attempt tells what came of it. Runs in the browser. */
const PAGE = `<!doctype html><title>hostile</title><script>
const within = (promise) => Promise.race([promise, new Promise((done) => setTimeout(() => done('nothing'), 5000))]);
const attempt = async (how) => {
  try { return await within(how()); } catch (error) { return 'refused'; }
};
const read = async (response) => {
  const text = response.type === 'opaque' ? '' : await response.text();
  return response.type === 'opaque' ? 'opaque' : 'read ' + response.status + ' ' + text.slice(0, 200);
};
const element = (name, attributes) => new Promise((done) => {
  const made = Object.assign(document.createElement(name), attributes);
  made.onload = () => done('loaded');
  made.onerror = () => done('refused');
  document.body.append(made);
});
const form = (action, enctype, method) => new Promise((done) => {
  const frame = document.createElement('iframe');
  frame.name = 'frame' + Math.random();
  document.body.append(frame);
  const made = Object.assign(document.createElement('form'), { action, enctype, method, target: frame.name });
  const field = Object.assign(document.createElement('input'), { name: '{"a":"', value: '"}' });
  made.append(field);
  document.body.append(made);
  frame.onload = () => done('sent');
  made.submit();
});
const socket = (address) => new Promise((done) => {
  const made = new WebSocket(address);
  made.onopen = () => done('opened');
  made.onerror = () => done('refused');
});
const events = (address) => new Promise((done) => {
  const made = new EventSource(address);
  made.onopen = () => done('opened');
  made.onmessage = () => done('opened');
  made.onerror = () => { made.close(); done('refused'); };
});
const JSON_TYPE = { 'content-type': 'application/json' };
const attack = async (base, path) => {
  const url = base + path;
  const body = '{"model":"m","messages":[]}';
  return {
    get: await attempt(() => fetch(url).then(read)),
    credentials: await attempt(() => fetch(url, { credentials: 'include' }).then(read)),
    'no-cors': await attempt(() => fetch(url, { mode: 'no-cors' }).then(read)),
    head: await attempt(() => fetch(url, { method: 'HEAD' }).then(read)),
    preflight: await attempt(() => fetch(url, { headers: { authorization: 'Bearer x' } }).then(read)),
    json: await attempt(() => fetch(url, { method: 'POST', body, headers: JSON_TYPE }).then(read)),
    text: await attempt(() => fetch(url, { method: 'POST', body, mode: 'no-cors' }).then(read)),
    beacon: await attempt(async () => (navigator.sendBeacon(url, body), 'sent')),
    put: await attempt(() => fetch(url, { method: 'PUT', body }).then(read)),
    delete: await attempt(() => fetch(url, { method: 'DELETE' }).then(read)),
    form: await attempt(() => form(url, 'text/plain', 'post')),
    encoded: await attempt(() => form(url, 'application/x-www-form-urlencoded', 'post')),
    navigation: await attempt(() => form(url, 'text/plain', 'get')),
    image: await attempt(() => element('img', { src: url })),
    script: await attempt(() => element('script', { src: url })),
    style: await attempt(() => element('link', { rel: 'stylesheet', href: url })),
    events: await attempt(() => events(url)),
    socket: await attempt(() => socket(url.replace('http', 'ws'))),
  };
};
</script><body></body>`;

/** What came of nothing. A form and a beacon tell nobody whether they were taken: the listeners tell that. */
const NOTHING = ['refused', 'nothing', 'opaque', 'sent'];

const test = suite('a hostile page');

const TOKEN = 'of-the-operator';
const NOBODY = { queries: 0, appended: 0, upstream: 0, evidence: 0 };

const PATHS = {
  api: [
    '/ping',
    '/metrics',
    '/openapi',
    '/v1/sessions',
    '/v1/admin/seed/demo',
    '/v1/mcp',
    '/v1/events',
    '/v1/cassettes',
    '/v1/cassettes/notes/all',
    '/',
    '/sessions',
    '/ui/manifest.json',
  ],
  ingest: ['/ping', '/metrics', '/v1/ingest'],
  proxy: ['/v1/messages', '/openai/v1/responses'],
  internal: ['/internal/readiness/evidence', '/'],
};

/** The listeners, each of which counts what gets behind its guard; and a browser. */
async function stand(run: (parts: Awaited<ReturnType<typeof openAll>> & { browser: BrowserContext }) => Promise<void>) {
  const parts = await openAll();
  const profile = await mkdtemp(join(tmpdir(), 'svc-chromium-'));
  try {
    const browser = await chromium.launchPersistentContext(profile, { executablePath: CHROMIUM, args: ARGS });
    await run({ ...parts, browser }).finally(() => browser.close());
  } finally {
    await parts.close();
    await rm(profile, { recursive: true, force: true });
  }
}

async function openAll() {
  const seen = { queries: 0, appended: 0, upstream: 0, evidence: 0 };
  const execute = (() => {
    seen.queries++;
    return Promise.resolve({ sessions: [], next: null });
  }) as unknown as Database['execute'];
  const append = () => {
    seen.appended++;
    return Promise.reject(new Error('no engine'));
  };
  await bundled();
  const ui = webApp({ assets: openAssets(builtAssets()), basePath: '', version: '0', wantsToken: false });
  const app = testApi({ execute, append, pages: ui });
  const api = await serveApp({ fetch: app.fetch, hosts: ['127.0.0.1'], port: 0, what: 'read API' });
  const ingest = await serveIngest({ append });
  const proxy = await openStand(
    () => {
      seen.upstream++;
      return { body: '{}' };
    },
    { deps: { refuse: refuseForeign([]) } },
  );
  const evidence = () => {
    seen.evidence++;
    return { schema: 'svc.evidence/v1' } as CassetteEvidence;
  };
  const { fetch } = internalApi({
    evidence,
    ready: async () => ({ ready: true, reasons: [], remarks: [] }),
    metrics: async () => '',
    token: TOKEN,
    allowedHosts: [],
    log: openLog('silent'),
  });
  const internal = await serveApp({ fetch, hosts: ['127.0.0.1'], port: 0, what: 'internal listener' });
  const pages = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(PAGE);
  });
  await new Promise<void>((done) => pages.listen(0, '127.0.0.1', () => done()));
  return {
    seen,
    ports: { api: api.port, ingest: ingest.port, proxy: proxy.port, internal: internal.port },
    pagePort: (pages.address() as AddressInfo).port,
    close: async () => {
      pages.closeAllConnections();
      pages.close();
      await Promise.all([api.close(0), ingest.close(0), proxy.close(), internal.close(0)]);
    },
  };
}

type Name = keyof typeof PATHS;
const names = Object.keys(PATHS) as Name[];
const attack = async (page: Page, base: string, path: string) =>
  (await page.evaluate(`attack(${JSON.stringify(base)}, ${JSON.stringify(path)})`)) as Record<string, string>;

if (!existsSync(CHROMIUM)) console.log(`skip: a hostile page: there is no ${CHROMIUM}`);
else {
  test('of another site, or of another port of this machine, reads nothing and writes nothing, on any listener', () =>
    stand(async ({ browser, ports, pagePort, seen }) => {
      const page = await browser.newPage();
      for (const from of [`http://evil.example:${pagePort}/`, `http://127.0.0.1:${pagePort}/`]) {
        await page.goto(from);
        for (const name of names)
          for (const path of PATHS[name]) {
            const came = await attack(page, `http://127.0.0.1:${ports[name]}`, path);
            assert.is(Object.keys(came).length, 18);
            for (const [way, what] of Object.entries(came))
              assert.ok(NOTHING.includes(what), `${from}: ${way} of ${name} ${path}: ${what}`);
          }
      }
      assert.equal(seen, NOBODY);
    }));

  test('whose name was pointed at this machine is refused as well', () =>
    stand(async ({ browser, ports, seen }) => {
      const page = await browser.newPage();
      for (const name of names)
        for (const path of PATHS[name]) {
          const address = `http://rebound.example:${ports[name]}${path}`;
          if (name === 'internal') {
            const empty = await page.goto(address).catch((error: Error) => error.message); // a browser shows no empty 401
            assert.match(String(empty), 'ERR_HTTP_RESPONSE_CODE_FAILURE', address);
            continue;
          }
          const response = await page.goto(address);
          assert.is(response?.status(), 403, address);
          const again = `fetch(${JSON.stringify(path)}, { method: 'POST', body: '{}' }).then((answer) => answer.status)`;
          assert.is(await page.evaluate(again), 403, `${address}, from a page of the same name`);
        }
      assert.equal(seen, NOBODY);
    }));

  test('while a page of ours may read, and a program may write', () =>
    stand(async ({ browser, ports, seen }) => {
      const page = await browser.newPage();
      await page.goto(`http://127.0.0.1:${ports.api}/swagger`);
      const status = `fetch('/v1/sessions').then(async (answer) => [answer.status, await answer.json()])`;
      assert.equal((await page.evaluate(status)) as Json, [200, { items: [] }]);
      const init = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } };
      await fetch(`http://127.0.0.1:${ports.ingest}/v1/ingest`, init);
      await fetch(`http://127.0.0.1:${ports.proxy}/v1/messages`, init);
      const authorization = `Bearer ${TOKEN}`;
      await fetch(`http://127.0.0.1:${ports.internal}/internal/readiness/evidence`, { headers: { authorization } });
      assert.equal(seen, { queries: 1, appended: 1, upstream: 1, evidence: 1 });
    }));
}

test.run();
