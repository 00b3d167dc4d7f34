/** Metrics reach an OTLP endpoint whole, and an endpoint that is away or slow costs a count and one line. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openMetrics } from '../../../core/metrics.ts';
import { otlpMetrics } from '../../../core/telemetry/otlp-metrics.ts';
import { startTelemetry } from '../../../core/telemetry/telemetry.ts';
import { eventually } from '../../support/eventually.ts';

const test = suite('telemetry');

type Point = Record<string, unknown> & { attributes: { key: string; value: { stringValue: string } }[] };
type Exported = {
  name: string;
  unit: string;
  sum?: { aggregationTemporality: number; isMonotonic: boolean; dataPoints: Point[] };
  gauge?: { dataPoints: Point[] };
  histogram?: { aggregationTemporality: number; dataPoints: Point[] };
};
type Body = {
  resourceMetrics: [{ resource: { attributes: Point['attributes'] }; scopeMetrics: [{ metrics: Exported[] }] }];
};

const resource = { version: '1.2.3', role: 'all', instance: 'here', startedAt: 1_700_000_000_000 };
const named = (attributes: Point['attributes']) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue]));
const metricsIn = (body: Body) =>
  new Map(body.resourceMetrics[0].scopeMetrics[0].metrics.map((metric) => [metric.name, metric]));

test('counters, gauges and histograms are what they were, with the times since when they count', async () => {
  const metrics = openMetrics('all', '1.2.3');
  metrics.proxyRequest('openai', 'captured');
  metrics.proxyRequest('openai', 'captured');
  metrics.journal({ bytes: 4711, oldestSeconds: 0.5 });
  for (const seconds of [0.0005, 0.004, 0.004, 100]) metrics.derived(seconds);
  const engine = openMetrics('engine');
  engine.derived(0.004);
  const snapshot = await metrics.snapshot([structuredClone(await engine.registry.getMetricsAsJSON())]);
  const body = JSON.parse(JSON.stringify(otlpMetrics(snapshot, resource, 1_700_000_060_000))) as Body;
  assert.equal(named(body.resourceMetrics[0].resource.attributes), {
    'service.name': 'svc',
    'service.version': '1.2.3',
    'service.instance.id': 'here',
    'svc.role': 'all',
  });
  const exported = metricsIn(body);
  const requests = exported.get('svc_proxy_requests_total')?.sum;
  assert.equal([requests?.aggregationTemporality, requests?.isMonotonic], [2, true]);
  const counted = requests?.dataPoints.find(({ asDouble }) => asDouble === 2);
  assert.equal(named(counted?.attributes ?? []), { provider: 'openai', outcome: 'captured' });
  assert.is(counted?.startTimeUnixNano, '1700000000000000000');
  assert.is(counted?.timeUnixNano, '1700000060000000000');
  const journal = exported.get('svc_journal_bytes');
  assert.is(journal?.unit, 'By');
  assert.equal(journal?.gauge?.dataPoints, [{ attributes: [], timeUnixNano: '1700000060000000000', asDouble: 4711 }]);
  const derive = exported.get('svc_derive_seconds');
  assert.is(derive?.unit, 's');
  const [point] = derive?.histogram?.dataPoints ?? [];
  assert.equal([point?.count, point?.sum], ['5', 100.0125]);
  const counts = point?.bucketCounts as string[];
  const bounds = point?.explicitBounds as number[];
  assert.is(counts.length, bounds.length + 1);
  assert.equal(
    counts.map((count, i) => [bounds[i] ?? 'beyond', count]).filter(([, count]) => count !== '0'),
    [
      [0.001, '1'],
      [0.005, '3'],
      ['beyond', '1'],
    ],
  );
});

async function endpoint(respond: (request: IncomingMessage, body: string, response: ServerResponse) => void) {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => respond(request, Buffer.concat(chunks).toString(), response));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function telemetryTo(url: string, options: { everyMs?: number; timeoutMs?: number } = {}) {
  const metrics = openMetrics('all', '1');
  const logged: string[] = [];
  const telemetry = startTelemetry({
    endpoint: url,
    headers: { authorization: 'Bearer planted-secret', 'content-type': 'text/plain' },
    resource,
    snapshot: () => metrics.snapshot(),
    metrics,
    log: {
      warn: (facts: object, text: string) => void logged.push(`${JSON.stringify(facts)} ${text}`),
      info: (text: string) => void logged.push(text),
    } as never,
    ...options,
  });
  const counted = async (result: string) => {
    const found = new RegExp(`svc_telemetry_exports_total\\{result="${result}"\\} (\\d+)`).exec(await metrics.text());
    return Number(found?.[1] ?? 0);
  };
  return { telemetry, logged, counted };
}

test('each period and at the end, with the headers; a redirection is not followed', async () => {
  const received: { path: string; type: string; auth: string; body: Body }[] = [];
  const server = await endpoint(({ url, headers }, body, response) => {
    const { 'content-type': type = '', authorization: auth = '' } = headers;
    received.push({ path: url ?? '', type, auth, body: JSON.parse(body) as Body });
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"partialSuccess":{}}');
  });
  const { telemetry, logged, counted } = telemetryTo(`${server.url}/otlp/`, { everyMs: 50 });
  await eventually(() => received.length >= 2);
  const before = received.length;
  await telemetry.close();
  assert.ok(received.length > before, 'the last figures were sent');
  const { length } = received;
  await new Promise((done) => setTimeout(done, 200));
  assert.is(received.length, length);
  const { path, type, auth, body } = received[0] as (typeof received)[number];
  assert.equal([path, type, auth], ['/otlp/v1/metrics', 'application/json', 'Bearer planted-secret']);
  assert.ok(metricsIn(body).has('svc_build_info'));
  assert.is(await counted('exported'), length);
  assert.equal(logged, []);
  server.close();

  const elsewhere: string[] = [];
  const target = await endpoint((request, _body, response) => {
    elsewhere.push(request.headers.authorization ?? '');
    response.end('{}');
  });
  const redirecting = await endpoint((_request, _body, response) => {
    response.writeHead(307, { location: `${target.url}/v1/metrics` }).end();
  });
  const away = telemetryTo(redirecting.url);
  await away.telemetry.close();
  assert.equal([await away.counted('failed'), elsewhere], [1, []]);
  redirecting.close();
  target.close();
});

test('an endpoint that fails and comes back: one line each, without the headers', async () => {
  let fails = 0;
  const server = await endpoint((_request, _body, response) => {
    if (fails++ < 3) response.writeHead(503).end('down for the planted-secret');
    else response.end('{}');
  });
  const { telemetry, logged, counted } = telemetryTo(server.url, { everyMs: 20 });
  await eventually(async () => (await counted('exported')) > 0);
  await telemetry.close();
  assert.is(await counted('failed'), 3);
  assert.is(logged.length, 2, logged.join('\n'));
  assert.match(logged[0] ?? '', 'responds 503');
  assert.not.match(logged.join(), 'planted-secret');
  server.close();
});

test('figures that the endpoint rejects count as a failure', async () => {
  const server = await endpoint((_request, _body, response) =>
    response.end('{"partialSuccess":{"rejectedDataPoints":"7","errorMessage":"x"}}'),
  );
  const { telemetry, logged, counted } = telemetryTo(server.url);
  await telemetry.close();
  assert.is(await counted('failed'), 1);
  assert.match(logged[0] ?? '', 'rejects 7 figures');
  server.close();
});

test('an endpoint that refuses, and one that never responds: exports do not pile up, and the end does not wait', async () => {
  const refusing = telemetryTo('http://127.0.0.1:1', { everyMs: 20 });
  await eventually(async () => (await refusing.counted('failed')) >= 3);
  await refusing.telemetry.close();
  assert.is(refusing.logged.length, 1);

  let requests = 0;
  const server = await endpoint(() => void requests++);
  const silent = telemetryTo(server.url, { everyMs: 20, timeoutMs: 60_000 });
  await eventually(() => requests > 0);
  await new Promise((done) => setTimeout(done, 300));
  assert.is(requests, 1, 'one at a time');
  const from = performance.now();
  await silent.telemetry.close();
  assert.ok(performance.now() - from < 12_000);
  server.close();
});

test.run();
