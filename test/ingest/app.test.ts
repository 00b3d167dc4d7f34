import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openLog } from '../../core/log.ts';
import { openMetrics } from '../../core/metrics.ts';
import { ingestApi } from '../../ingest/app.ts';
import type { Json } from '../support/read-api.ts';

const test = suite('ingest API');

const app = () =>
  ingestApi({ log: openLog('silent'), metrics: openMetrics('ingest', '1.2.3'), version: '1.2.3', allowedHosts: [] });

test('/ping says ok', async () => {
  const response = await app().request('/ping');
  assert.equal([response.status, await response.json()], [200, { status: 'ok' }]);
});

test('every rejection is exactly one sentence in `error`', async () => {
  const broken = app();
  broken.get('/broken', () => {
    throw new Error('secret');
  });
  for (const [path, method, status, headers] of [
    ['/nothing', 'GET', 404, {}],
    ['/v1/sessions', 'GET', 404, {}],
    ['/ping', 'DELETE', 405, {}],
    ['/broken', 'GET', 500, {}],
    ['/ping', 'GET', 403, { host: 'evil.example' }],
  ] as [string, string, number, Record<string, string>][]) {
    const response = await broken.request(path, { method, headers });
    assert.is(response.status, status, path);
    assert.is(response.headers.get('content-type'), 'application/json');
    const body = (await response.json()) as Json;
    assert.equal(Object.keys(body), ['error']);
    assert.type(body.error, 'string');
    assert.not.match(body.error, 'secret');
    assert.is(response.headers.get('allow'), status === 405 ? 'GET, HEAD' : null);
  }
});

test('its contract is its own, and documents what it serves', async () => {
  const { openapi, info, paths } = (await (await app().request('/openapi')).json()) as Json;
  assert.equal([openapi, info.title, info.version], ['3.1.0', 'svc ingest API', '1.2.3']);
  const undocumented = app()
    .routes.filter(({ method }) => method !== 'ALL')
    .map(({ path }) => path)
    .filter((path) => !paths[path]);
  assert.equal(undocumented.sort(), ['/metrics', '/openapi']);
});

test('/metrics are there', async () => {
  assert.match(await (await app().request('/metrics')).text(), 'svc_build_info{version="1.2.3",role="ingest"} 1');
});

test.run();
