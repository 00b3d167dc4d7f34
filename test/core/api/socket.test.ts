/** On a real socket: a web page can neither read nor write, and methods are answered as HTTP has them. */
import { request } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { serveApp } from '../../../core/http/listen.ts';
import { openLog } from '../../../core/log.ts';
import { openMetrics } from '../../../core/metrics.ts';
import { complaint, ingestApi } from '../../../ingest/app.ts';
import { testApi } from '../../support/read-api.ts';

type Answer = { status: number; headers: Record<string, unknown>; body: string };

const ask = (address: string, path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> =>
  new Promise((done, fail) => {
    const outgoing = request(`${address}${path}`, { method, headers, agent: false }, (response) => {
      let body = '';
      response.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      response.on('end', () => done({ status: response.statusCode ?? 0, headers: response.headers, body }));
    });
    outgoing.on('error', fail);
    outgoing.end();
  });

const listeners = {
  'read API': () => serveApp({ fetch: testApi().fetch, hosts: ['127.0.0.1', '::1'], port: 0, what: 'read API' }),
  'ingest API': () =>
    serveApp({
      fetch: ingestApi({
        append: () => Promise.reject(new Error('no engine')),
        appendTranscript: () => Promise.reject(new Error('no engine')),
        log: openLog('silent'),
        metrics: openMetrics('all'),
        version: '0',
        allowedHosts: [],
        trustCallerHeader: false,
      }).fetch,
      hosts: ['127.0.0.1', '::1'],
      port: 0,
      what: 'ingest API',
      complaint,
    }),
};

for (const [name, serve] of Object.entries(listeners)) {
  const test = suite(`${name}, on a socket`);
  test('a web page can neither read nor write here', async () => {
    const served = await serve();
    try {
      for (const address of served.addresses) {
        const own = new URL(address).host;
        for (const headers of [
          {},
          { host: 'localhost' },
          { origin: `http://${own}` },
          { 'sec-fetch-site': 'none' },
          { 'sec-fetch-site': 'same-origin', origin: `http://${own}` },
          { 'sec-fetch-mode': 'cors' },
        ] as Record<string, string>[])
          assert.is((await ask(address, '/ping', headers)).status, 200, JSON.stringify(headers));
        for (const headers of [
          { host: 'evil.example' },
          { host: `evil.example:${served.port}` },
          { origin: 'http://evil.example' },
          { origin: 'null' },
          { 'sec-fetch-site': 'cross-site' },
          { 'sec-fetch-site': 'same-site', origin: 'http://localhost:1' },
        ] as Record<string, string>[])
          for (const [method, path] of [
            ['GET', '/ping'],
            ['GET', '/metrics'],
            ['GET', '/openapi'],
            ['POST', '/ping'],
            ['OPTIONS', '/v1/sessions'],
            ['GET', '/nothing'],
          ] as const) {
            const answer = await ask(address, path, headers, method);
            assert.is(answer.status, 403, `${method} ${path} ${JSON.stringify(headers)}`);
            assert.is(answer.headers['access-control-allow-origin'], undefined);
            assert.is(answer.headers['cross-origin-resource-policy'], 'same-origin');
            assert.ok((JSON.parse(answer.body) as { error: string }).error.startsWith('Cannot answer'));
          }
      }
      assert.is((await fetch(`${served.addresses[0]}/ping`)).status, 200, 'fetch of Node may');
    } finally {
      await served.close(0);
    }
  });

  test('HEAD is GET without a body; another method is told which would do', async () => {
    const served = await serve();
    try {
      const [address = ''] = served.addresses;
      const head = await ask(address, '/ping', {}, 'HEAD');
      assert.equal([head.status, head.body, head.headers['content-type']], [200, '', 'application/json']);
      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
        const answer = await ask(address, '/ping', {}, method);
        assert.equal([answer.status, answer.headers.allow], [405, 'GET, HEAD']);
      }
      assert.is((await ask(address, '/nothing', {}, 'HEAD')).status, 404);
      assert.is((await ask(address, '/nothing')).status, 404);
    } finally {
      await served.close(0);
    }
  });
  test.run();
}
