/** A place is taken by each reader of payloads, and given back however the reading ends: here each way is tried to the end. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { chunkStream } from '../../../core/http/chunk-stream.ts';
import { deadline } from '../../../core/http/deadline.ts';
import { onError } from '../../../core/http/failure.ts';
import { jsonStream } from '../../../core/http/json-stream.ts';
import { serveApp } from '../../../core/http/listen.ts';
import { payloadReads, payloadSlots } from '../../../core/http/payload-reads.ts';
import { routes } from '../../../core/http/routes.ts';
import { openLog } from '../../../core/log.ts';
import { Problem } from '../../../core/model/problem.ts';

const test = suite('payloadReads');

const log = openLog('silent');
const LARGE = 'x'.repeat(100_000);

/** One place. `/stream` and `/chunks` go on until it is told otherwise: by `fail`, or by `finish`. */
const reading = ({ deadlineMs = 60_000 } = {}) => {
  const control = { fail: false, finish: false, ended: false, held: Promise.resolve() };
  const app = routes();
  app.onError(onError(log));
  app.use(deadline(deadlineMs));
  app.use(payloadReads(payloadSlots(1, { waitMs: 0 })));
  app.get('/small', (c) => c.json({}));
  app.get('/throws', () => {
    throw new Error('no');
  });
  app.get('/stream', (c) =>
    jsonStream(
      c,
      (async function* () {
        await control.held;
        while (!control.finish) {
          if (control.fail) throw new Error('no');
          yield LARGE;
          await sleep(1);
        }
      })(),
      log,
    ),
  );
  app.get('/chunks', (c) =>
    chunkStream(
      c,
      (async function* () {
        try {
          await control.held;
          while (!control.finish) {
            yield Buffer.from(LARGE);
            await sleep(1);
          }
        } finally {
          control.ended = true;
        }
      })(),
      { 'content-type': 'text/plain' },
      log,
    ),
  );
  const status = async (path = '/small') => (await app.request(path)).status;
  return { app, control, status };
};

const becomesFree = async (status: () => Promise<number>) => {
  for (let ms = 0; ms < 20_000; ms += 5) {
    if ((await status()) === 200) return;
    await sleep(5);
  }
  throw new Error('the place was not given back');
};

test('one too many is refused, told why and when to ask again', async () => {
  const { app, status } = reading();
  const held = await app.request('/stream');
  const refused = await app.request('/small');
  assert.equal([refused.status, refused.headers.get('retry-after')], [503, '1']);
  const problem = Problem.parse(await refused.json());
  assert.equal(
    [problem.code, problem.error],
    ['too-many-payload-reads', 'Cannot read payloads now: too many readers take some; ask again'],
  );
  await held.body?.cancel();
  await becomesFree(status);
});

test('the place comes back with the last byte, and not before', async () => {
  const { app, control, status } = reading();
  const reader = (await app.request('/stream')).body?.getReader();
  await reader?.read();
  assert.is(await status(), 503);
  control.finish = true;
  while (!(await reader?.read())?.done);
  await becomesFree(status);
});

test('the place comes back when the stream fails', async () => {
  const { app, control, status } = reading();
  const response = await app.request('/stream');
  control.fail = true;
  await response.text().catch(() => {});
  await becomesFree(status);
});

test('what fails or is small holds it no longer than it takes', async () => {
  const { status } = reading();
  for (const [path, wanted] of [
    ['/throws', 500],
    ['/small', 200],
    ['/nothing', 404],
    ['/throws', 500],
  ] as const)
    assert.is(await status(path), wanted);
});

test('HEAD begins the answer as GET does and takes none of it', async () => {
  const { app, control, status } = reading();
  assert.is((await app.request('/chunks', { method: 'HEAD' })).status, 200);
  assert.ok(control.ended);
  const head = await app.request('/stream', { method: 'HEAD' });
  assert.equal(
    [head.status, head.headers.get('content-type'), head.headers.get('content-length')],
    [200, 'application/json', null],
  );
  assert.is(await status(), 200);
});

test('past the deadline the place is held until the database has answered', async () => {
  const { app, control, status } = reading({ deadlineMs: 20 });
  let release = () => {};
  control.held = new Promise((resolve) => {
    release = resolve;
  });
  const late = await app.request('/stream');
  assert.is(late.status, 504);
  assert.is(await status(), 503);
  release();
  await becomesFree(status);
});

test('a stream whose first chunk comes past the deadline is ended, and its place comes back', async () => {
  const { app, control, status } = reading({ deadlineMs: 20 });
  let release = () => {};
  control.held = new Promise((resolve) => {
    release = resolve;
  });
  assert.is((await app.request('/chunks')).status, 504);
  assert.is(await status(), 503);
  release();
  await becomesFree(status);
  assert.ok(control.ended);
});

const order: string[] = [];
const reader = async (name: string, taken: Promise<() => void>) => {
  const release = await taken.catch((error: Error) => error);
  order.push(release instanceof Error ? `${name} refused` : name);
  return release instanceof Error ? () => {} : release;
};

test('readers wait for a slot in the order in which they came', async () => {
  const acquire = payloadSlots(1, { waitMs: 10_000 });
  order.length = 0;
  const first = await acquire();
  const [second, third] = [reader('second', acquire()), reader('third', acquire())];
  await sleep(5);
  assert.equal(order, []);
  first();
  const fourth = reader('fourth', acquire()); // one that comes as a slot is freed is behind those that wait
  (await second)();
  (await third)();
  (await fourth)();
  assert.equal(order, ['second', 'third', 'fourth']);
  (await acquire())();
});

test('a wait ends at its limit, when the reader leaves, and at once when too many wait', async () => {
  const acquire = payloadSlots(1, { waitMs: 60, mostWaiting: 2 });
  order.length = 0;
  const first = await acquire();
  const leaving = new AbortController();
  const late = reader('late', acquire());
  const left = reader('left', acquire(leaving.signal));
  await reader('too many', acquire());
  leaving.abort();
  await left;
  await reader('gone', acquire(leaving.signal));
  const after = reader('after', acquire());
  await late;
  assert.equal(order, ['too many refused', 'left refused', 'gone refused', 'late refused']);
  first();
  (await after)();
  assert.is(order.at(-1), 'after');
  (await acquire())();
});

const served = async (
  run: (ask: (path: string) => Promise<IncomingMessage>, status: () => Promise<number>) => Promise<void>,
) => {
  const { app, status } = reading();
  const server = await serveApp({
    fetch: app.fetch,
    hosts: ['127.0.0.1'],
    port: 0,
    what: 'test',
    limits: { idleMs: 300 },
  });
  const ask = async (path: string): Promise<IncomingMessage> => {
    const outgoing = request(`${server.addresses[0]}${path}`, { agent: false });
    outgoing.on('error', () => {});
    outgoing.end();
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    answer.on('error', () => {});
    return answer;
  };
  try {
    await run(ask, status);
  } finally {
    await server.close(0);
  }
};

test('on a socket, a reader that leaves gives its place back', () =>
  served(async (ask, status) => {
    for (let n = 0; n < 5; n++) {
      const answer = await ask('/stream');
      assert.is(await status(), 503);
      if (n % 2) await once(answer, 'data');
      answer.destroy();
      await becomesFree(status);
    }
  }));

test('on a socket, a reader that leaves while it waits takes no slot', async () => {
  const acquire = payloadSlots(1, { waitMs: 10_000 });
  const app = routes();
  app.onError(onError(log));
  app.use(payloadReads(acquire));
  app.get('/small', (c) => c.json({}));
  const server = await serveApp({ fetch: app.fetch, hosts: ['127.0.0.1'], port: 0, what: 'test' });
  const release = await acquire();
  const outgoing = request(`${server.addresses[0]}/small`, { agent: false });
  outgoing.on('error', () => {});
  outgoing.end();
  await sleep(50);
  outgoing.destroy();
  await sleep(50);
  release();
  (await acquire())(); // one that had got the slot would not give it back before its response
  await server.close(0);
});

test('on a socket, a reader that stops taking keeps its place until the idle timeout', () =>
  served(async (ask, status) => {
    const answer = await ask('/stream');
    answer.pause();
    assert.is(await status(), 503);
    await becomesFree(status);
    assert.ok(!answer.complete);
    answer.destroy();
  }));

test.run();
