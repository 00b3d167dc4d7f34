import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { internalApi, type Readiness } from '../../../core/api/internal.ts';
import { evidenceOf } from '../../../core/cassette/evidence.ts';
import { openLog } from '../../../core/log.ts';

const test = suite('internal listener');

const TOKEN = 'a-token-of-the-operator';
let readiness: Readiness = { ready: true, reasons: [], remarks: [] };
const app = internalApi({
  ready: async () => readiness,
  metrics: async () => 'svc_build_info 1\n',
  evidence: () =>
    evidenceOf({
      processes: [],
      instance: { instance_id: '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10', started_at: '2026-11-21T08:59:00Z' },
      list: { digest: `sha256:${'b'.repeat(64)}`, count: 0, loaded_at: '', problem: null },
      installed: [],
      now: 0,
    }),
  token: TOKEN,
  allowedHosts: [],
  log: openLog('silent'),
});
const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  app.request(`http://localhost:8092${path}`, { headers, method });
const EVIDENCE = '/internal/readiness/evidence';

test('without the right bearer every path but the probes is 401 for every method, with nothing in it', async () => {
  for (const path of [EVIDENCE, '/', '/nothing', '/internal', '/ping/', '/ready/x', '/metrics', '/openapi'])
    for (const authorization of [undefined, '', 'Bearer', `Basic ${TOKEN}`, 'Bearer wrong', `Bearer ${TOKEN}x`, TOKEN])
      for (const method of ['GET', 'POST', 'OPTIONS']) {
        const response = await ask(path, authorization === undefined ? {} : { authorization }, method);
        assert.is(response.status, 401, `${method} ${path} ${authorization}`);
        assert.is(await response.text(), '');
        assert.match(response.headers.get('www-authenticate') ?? '', /^Bearer/);
        assert.is(response.headers.get('cache-control'), 'no-store');
      }
});

test('with it the evidence is told, in whichever case the scheme is written; any other path is 404', async () => {
  for (const authorization of [`Bearer ${TOKEN}`, `bearer ${TOKEN}`, `BEARER  ${TOKEN}`]) {
    const response = await ask(EVIDENCE, { authorization });
    assert.is(response.status, 200);
    assert.is(response.headers.get('cache-control'), 'no-store');
    assert.is(((await response.json()) as { schema: string }).schema, 'svc.evidence/v1');
  }
  assert.is((await ask('/v1/sessions', { authorization: `Bearer ${TOKEN}` })).status, 404);
});

test('the probes of an orchestrator need no token: 200, or 503 with the reasons; and only to be read', async () => {
  assert.equal(await (await ask('/ping')).json(), { status: 'ok' });
  const ready = await ask('/ready');
  assert.is(ready.status, 200);
  assert.equal(await ready.json(), { status: 'ready', reasons: [], remarks: [] });
  readiness = { ready: false, reasons: ['the database cannot be reached'], remarks: ['calls wait'] };
  const unready = await ask('/ready');
  assert.is(unready.status, 503);
  assert.is(unready.headers.get('retry-after'), '1');
  assert.is(unready.headers.get('cache-control'), 'no-store');
  assert.equal(await unready.json(), {
    status: 'unready',
    reasons: ['the database cannot be reached'],
    remarks: ['calls wait'],
  });
  assert.is((await ask('/ping')).status, 200, 'liveness has nothing to do with it');
  for (const path of ['/ping', '/ready']) {
    assert.is((await ask(path, {}, 'POST')).status, 401);
    assert.is((await ask(path, { origin: 'http://evil.example' })).status, 403);
  }
  assert.is((await ask('/metrics', { authorization: `Bearer ${TOKEN}` })).status, 200);
});

test('a web page gets nothing, not even with the token', async () => {
  const authorization = `Bearer ${TOKEN}`;
  assert.is((await ask(EVIDENCE, { authorization, host: 'evil.example' })).status, 403);
  assert.is((await ask(EVIDENCE, { authorization, origin: 'http://evil.example' })).status, 403);
  assert.is((await ask(EVIDENCE, { authorization, 'sec-fetch-site': 'cross-site' })).status, 403);
});

test.run();
