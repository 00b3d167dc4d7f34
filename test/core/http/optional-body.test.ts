/** Bodies that may be left out, over a real socket: what a large one leaves behind must not reach the next request on its connection. */
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Refusal } from '../../../core/errors.ts';
import { serveApp } from '../../../core/http/listen.ts';
import { optionalBody } from '../../../core/http/optional-body.ts';
import { routes } from '../../../core/http/routes.ts';

const test = suite('optional bodies');
const PIECES = 10;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
test.after(() => agent.destroy());

/** Responds to a body that it accepts with a stream that takes a second. */
function openApp() {
  const app = routes();
  app.onError((thrown, c) => c.text(thrown.message, thrown instanceof Refusal ? 413 : 500));
  app.use('/', optionalBody());
  app.post('/', (c) => {
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        for (let i = 0; i < PIECES; i++) {
          controller.enqueue(Buffer.from('piece\n'));
          await sleep(100);
        }
        controller.close();
      },
    });
    return c.body(body);
  });
  return serveApp({ fetch: app.fetch, what: 'test', hosts: ['127.0.0.1'], port: 0 });
}

type Got = { status: number | undefined; text: string; isReused: boolean };

const post = (port: number, body: string) =>
  new Promise<Got>((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const outgoing = request({ host: '127.0.0.1', port, agent, method: 'POST', path: '/', headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode, text, isReused: outgoing.reusedSocket }));
      response.on('error', reject);
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });

for (const bytes of [5_000, 300_000, 1_000_000])
  test(`after a body of ${bytes} bytes is refused, its connection serves the next request to the end`, async () => {
    const served = await openApp();
    try {
      assert.is((await post(served.port, 'x'.repeat(bytes))).status, 413);
      const next = await post(served.port, '{}');
      assert.is(next.status, 200);
      assert.is(next.text, 'piece\n'.repeat(PIECES));
      assert.ok(next.isReused);
    } finally {
      await served.close(0);
    }
  });

test('after a body of 3 MB is refused, the next request goes over another connection', async () => {
  const served = await openApp();
  try {
    assert.is((await post(served.port, 'x'.repeat(3_000_000))).status, 413);
    const next = await post(served.port, '{}');
    assert.is(next.status, 200);
    assert.is(next.text, 'piece\n'.repeat(PIECES));
    assert.not.ok(next.isReused);
  } finally {
    await served.close(0);
  }
});

test.run();
