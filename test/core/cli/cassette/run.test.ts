import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { svc } from '../../../support/cli-program.ts';

const test = suite('svc cassette run');

const operation = (operationId: string) => ({ get: { operationId, responses: { 200: { description: 'Some' } } } });
const document = {
  openapi: '3.1.0',
  info: { title: 'Tally', version: '1.0.0' },
  paths: { '/v1/cassettes/tally/count': operation('count'), '/v1/cassettes/tally/lines': operation('lines') },
};
const TYPES: Readonly<Record<string, string>> = { count: 'application/json', lines: 'application/x-ndjson' };

test('a response that is cut in the middle is a failure in one sentence, as JSON and as lines', async () => {
  const server = createServer(({ url = '' }, response) => {
    if (url === '/ping') return void response.setHeader('content-type', 'application/json').end('"pong"');
    if (url.endsWith('openapi.json'))
      return void response.setHeader('content-type', 'application/json').end(JSON.stringify(document));
    response.writeHead(200, { 'content-type': TYPES[url.split('/').at(-1) ?? ''] });
    response.write('{"n":1}\n', () => setTimeout(() => response.destroy(), 50));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const env = { SVC_CLIENT_API_TARGET: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  try {
    for (const name of ['count', 'lines']) {
      const { status, err } = await svc(['cassette', 'run', 'tally', name], { cwd: tmpdir(), env });
      assert.equal(
        [status, err],
        [
          1,
          "Cannot call the cassette: the service broke it off; its log says why ('svc status' shows what is wrong)\n",
        ],
        name,
      );
    }
  } finally {
    server.close();
  }
});

test.run();
