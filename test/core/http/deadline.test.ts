import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { deadline } from '../../../core/http/deadline.ts';
import { onError } from '../../../core/http/failure.ts';
import { jsonStream } from '../../../core/http/json-stream.ts';
import { routes } from '../../../core/http/routes.ts';
import { Problem } from '../../../core/model/problem.ts';

const test = suite('deadline');

/** Answers when it is released; `pages` counts those that its stream asks for. */
const slow = (ms: number) => {
  const log: string[] = [];
  const logger = pino({}, { write: (line: string) => void log.push(line) });
  const seen = { pages: 0 };
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const app = routes();
  app.onError(onError(logger));
  app.use(deadline(ms));
  app.get('/fast', (c) => c.text('here'));
  app.on(['GET', 'POST', 'PATCH', 'DELETE'], '/slow', async (c) => {
    await held;
    return c.text('late');
  });
  app.get('/fails', async () => {
    await held;
    throw new TypeError('late');
  });
  app.get('/stream', (c) =>
    jsonStream(
      c,
      (async function* () {
        await held;
        for (;;) {
          seen.pages++;
          yield 'x'.repeat(100_000);
        }
      })(),
      logger,
    ),
  );
  app.get('/long', (c) =>
    jsonStream(
      c,
      (async function* () {
        for (let n = 0; n < 5; n++) {
          yield 'x'.repeat(70_000);
          await sleep(2 * ms);
        }
      })(),
      logger,
    ),
  );
  return { app, log, seen, release };
};

test('a read that has not begun to answer in time is a problem 504', async () => {
  const { app, release } = slow(20);
  for (const [method, path] of [
    ['GET', '/slow'],
    ['GET', '/stream'],
    ['GET', '/fails'],
  ] as const) {
    const response = await app.request(path, { method });
    assert.is(response.status, 504, path);
    assert.is(response.headers.get('retry-after'), null, 'the same question takes as long');
    const { code, error } = Problem.parse(await response.json());
    assert.equal([code, error], ['deadline-exceeded', 'Cannot answer in time: the answer took longer than 0.02 s']);
  }
  assert.is((await app.request('/slow', { method: 'HEAD' })).status, 504);
  release();
});

test('what comes afterwards is dropped, and no further page is asked for', async () => {
  const { app, seen, release } = slow(20);
  await app.request('/stream');
  await app.request('/fails');
  release();
  await sleep(50);
  assert.is(seen.pages, 1, 'the page that was under way');
});

test('what has begun in time may go on for as long as it likes', async () => {
  const { app } = slow(20);
  assert.is((await (await app.request('/long')).text()).length, 350_000);
  assert.is(await (await app.request('/fast')).text(), 'here');
});

test('what writes is never refused half way', async () => {
  const { app, release } = slow(10);
  for (const method of ['POST', 'PATCH', 'DELETE']) {
    const answer = app.request('/slow', { method });
    await sleep(30);
    release();
    assert.is((await answer).status, 200, method);
  }
});

test.run();
