/** What surrounds the resources: health, contract, page, metrics, token; and what the system does not have. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openMetrics } from '../../../core/metrics.ts';
import { Problem } from '../../../core/model/problem.ts';
import { type Json, testApi } from '../../support/read-api.ts';

const test = suite('read API');

test('/ping is the JSON string "pong"', async () => {
  const response = await testApi().request('/ping');
  assert.is(response.status, 200);
  assert.is(await response.text(), '"pong"');
});

test('/openapi is an OpenAPI 3.1 document, not sent again to who has it', async () => {
  const app = testApi();
  const response = await app.request('/openapi');
  const document = (await response.json()) as Json;
  assert.is(document.openapi, '3.1.0');
  assert.is(document.info.version, '0.0.0');
  const etag = response.headers.get('etag') ?? '';
  const again = await app.request('/openapi', { headers: { 'if-none-match': `"other", ${etag}` } });
  assert.is(again.status, 304);
  assert.is(await again.text(), '');
  assert.is((await app.request('/openapi', { headers: { 'if-none-match': '"other"' } })).status, 200);
});

test('what the system does not have is not served', async () => {
  for (const path of [
    '/v1/search',
    '/v1/sessions/summary',
    '/v1/stems',
    `/v1/sessions/${'a'.repeat(64)}`,
    '/v1',
    '/',
  ]) {
    const response = await testApi().request(path);
    assert.is(response.status, 404, path);
    Problem.parse(await response.json());
  }
});

test('a segment that is no UUID leads nowhere, and the database is not asked', async () => {
  for (const path of [
    '/v1/sessions/7',
    '/v1/sessions/7/traces',
    '/v1/sessions/x/raw_turns',
    '/v1/traces/7',
    '/v1/traces/7/spans/8',
  ])
    assert.is((await testApi().request(path)).status, 404, path);
});

test('bad parameters are told before the database is asked', async () => {
  const id = '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10';
  for (const path of [
    '/v1/sessions?limit=0',
    '/v1/sessions?limit=-1',
    '/v1/sessions?limit=ten',
    '/v1/sessions?limit=1.5',
    '/v1/sessions?limit=',
    '/v1/sessions?limit=1&limit=2',
    '/v1/sessions?cursor=',
    '/v1/sessions?cursor=abc',
    '/v1/traces?limit=0x10',
    '/v1/traces?session_id=7',
    `/v1/sessions/${id}/traces?payload=small`,
    `/v1/traces/${id}?payload=`,
    `/v1/sessions/${id}/raw_turns?include=everything`,
  ]) {
    const response = await testApi().request(path);
    assert.is(response.status, 400, path);
    assert.is(Problem.parse(await response.json()).code, 'bad-request');
  }
});

test('the contract page loads nothing but our own files', async () => {
  const app = testApi();
  const page = await app.request('/swagger');
  const html = await page.text();
  assert.match(page.headers.get('content-type') ?? '', 'text/html');
  assert.not.match(html, /https?:/);
  assert.match(page.headers.get('content-security-policy') ?? '', "default-src 'none'");
  const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => file);
  assert.is(files.length, 4);
  for (const file of files) {
    const response = await app.request(`/${file}`);
    assert.is(response.status, 200, file);
    assert.ok((await response.arrayBuffer()).byteLength > 50, file);
  }
  for (const file of ['index.html', 'package.json', '..%2fpackage.json'])
    assert.is((await app.request(`/swagger/${file}`)).status, 404, file);
});

test('a token is asked for everywhere but at /ping, /metrics and the page of the contract, which says nothing of what is stored', async () => {
  const app = testApi({ token: 'open sesame 1'.replaceAll(' ', '-') });
  const status = async (path: string, authorization?: string) =>
    (await app.request(path, authorization ? { headers: { authorization } } : {})).status;
  for (const path of ['/ping', '/metrics']) assert.is(await status(path), 200, path);
  assert.is(await status('/swagger'), 200);
  for (const path of ['/openapi', '/v1/sessions', '/nothing', '/ping/']) {
    assert.is(await status(path), 401, path);
    for (const wrong of ['Bearer', 'Bearer open', 'Bearer open-sesame-12', 'Basic open-sesame-1', 'open-sesame-1'])
      assert.is(await status(path, wrong), 401, wrong);
  }
  assert.is(await status('/openapi', 'Bearer open-sesame-1'), 200);
  assert.is(await status('/openapi', 'bearer  open-sesame-1'), 200);
  assert.is((await app.request('/openapi')).headers.get('www-authenticate'), 'Bearer realm="svc"');
});

test('requests are counted by route, method and status', async () => {
  const metrics = openMetrics('api', '1.2.3');
  const app = testApi({ metrics });
  await app.request('/ping');
  await app.request('/v1/sessions/7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10');
  await app.request('/wp-admin.php');
  await app.request('/ping', { method: 'BREW' });
  const response = await app.request('/metrics');
  assert.match(response.headers.get('content-type') ?? '', 'text/plain; version=0.0.4');
  const text = await response.text();
  assert.match(text, 'svc_build_info{version="1.2.3",role="api"} 1');
  assert.match(text, 'svc_api_requests_total{route="/ping",method="GET",status="200"} 1');
  assert.match(text, 'svc_api_requests_total{route="/v1/sessions/:id",method="GET",status="500"} 1');
  assert.match(text, 'svc_api_requests_total{route="unmatched",method="GET",status="404"} 1');
  assert.match(text, 'svc_api_requests_total{route="unmatched",method="other",status="405"} 1');
  assert.match(text, 'svc_api_request_seconds_count{route="/ping"} 1');
});

test('of an internal error nothing is told', async () => {
  const app = testApi({ execute: () => Promise.reject(new Error('relation "svc.secret" does not exist')) });
  const response = await app.request('/v1/sessions');
  const text = await response.text();
  assert.is(response.status, 500);
  assert.not.match(text, 'secret');
  assert.is(Problem.parse(JSON.parse(text)).error, 'Internal error');
});

test.run();
