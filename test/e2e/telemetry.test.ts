/** A service exports the metrics of all its processes where the operator says, at its stop too, and nothing when it is turned off. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { folderWithDatabase } from '../support/folder-with-database.ts';
import { acceptedTurn, plainTurn } from '../support/post-turns.ts';
import { removeFolder, startService, svc } from '../support/serve.ts';

const test = suite('telemetry of a running service');

type Point = {
  asDouble: number;
  startTimeUnixNano: string;
  attributes: { key: string; value: { stringValue: string } }[];
};
type Metric = { name: string; sum?: { dataPoints: Point[] } };
type Body = { resourceMetrics: { scopeMetrics: { metrics: Metric[] }[] }[] };

test('the last figures are exported at the stop; with telemetry.disabled none are', async () => {
  const received: { path: string | undefined; key: string | string[] | undefined; body: Body }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Body;
      received.push({ path: request.url, key: request.headers['x-key'], body });
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const folder = await folderWithDatabase();
  const env = {
    SVC_TELEMETRY_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    SVC_TELEMETRY_HEADERS: 'x-key=planted-secret',
    SVC_PROXY_UPSTREAMS_OPENAI: 'http://127.0.0.1:1',
  };
  const before = Date.now();
  const service = await startService(folder, env);
  try {
    const status = await svc(folder, ['status', '--json'], { SVC_CLIENT_API_TARGET: service.api, ...env });
    assert.match(status.out, '"telemetry.endpoint"');
    assert.not.match(status.out, 'planted-secret');
    for (let n = 0; n < 3; n++) await acceptedTurn(service, plainTurn(`turn-${n}`));
    await fetch(`${service.proxy}/openai/v1/models`).catch(() => {}); // passes the proxy, and is no turn
    assert.is(await service.stop(), 0);
  } finally {
    await service.kill();
  }
  assert.is(received.length, 1);
  const { path, key, body } = received[0] as (typeof received)[number];
  assert.equal([path, key], ['/v1/metrics', 'planted-secret']);
  const metrics = body.resourceMetrics[0]?.scopeMetrics[0]?.metrics ?? [];
  const points = (name: string) => metrics.find((metric) => metric.name === name)?.sum?.dataPoints ?? [];
  const total = (name: string) => points(name).reduce((sum, { asDouble }) => sum + asDouble, 0);
  assert.is(total('svc_ingest_writes_total'), 3); // of the service's process
  assert.is(total('svc_intake_turns_total'), 3); // of its engine
  assert.is(total('svc_proxy_requests_total'), 1); // of the proxy, which has ended
  const [point] = points('svc_ingest_writes_total');
  const startedAt = Number(point?.startTimeUnixNano) / 1e6;
  assert.ok(startedAt >= before && startedAt < Date.now());
  assert.not.match(service.log(), 'planted-secret');

  const quiet = await startService(folder, { ...env, SVC_TELEMETRY_DISABLED: 'true' });
  try {
    assert.is(await quiet.stop(), 0);
  } finally {
    await quiet.kill();
    server.close();
    await removeFolder(folder);
  }
  assert.is(received.length, 1);
});

test.run();
