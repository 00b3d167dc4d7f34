import { setTimeout as sleep } from 'node:timers/promises';
import { Hono } from 'hono';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openServerTiming } from '../../../core/http/server-timing.ts';
import { testApi } from '../../support/read-api.ts';

const test = suite('server timing');

/** Of `total;dur=12.3, db;dur=4.5`. */
const durations = (header: string | null): number[] => {
  const [, total, db] = /^total;dur=(\d+\.\d), db;dur=(\d+\.\d)$/.exec(header ?? '') ?? [];
  return [Number(total), Number(db)];
};

test('the time of queries is that in which at least one of them ran', async () => {
  let now = 0;
  const timing = openServerTiming(() => now);
  const query = (from: number, to: number) =>
    timing.measure(async () => {
      while (now < to) await sleep(0);
      return from;
    });
  const app = new Hono();
  app.use(timing.middleware);
  app.get('/', async (c) => {
    now = 10;
    const first = query(10, 30);
    now = 20;
    const second = query(20, 40);
    now = 30;
    await first;
    now = 40;
    await second;
    now = 100;
    await timing.measure(async () => {
      now = 105;
    });
    now = 200;
    return c.text('');
  });
  app.post('/', (c) => c.text(''));
  const response = await app.request('/');
  assert.equal(durations(response.headers.get('server-timing')), [200, 35]);
  assert.is((await app.request('/', { method: 'POST' })).headers.get('server-timing'), null);
});

test('a query that fails counts, and each request has its own time', async () => {
  const timing = openServerTiming();
  const app = new Hono();
  app.use(timing.middleware);
  app.get('/fails', async (c) => {
    await timing.measure(() => sleep(20).then(() => Promise.reject(new Error('no')))).catch(() => {});
    return c.text('');
  });
  app.get('/idle', (c) => sleep(40).then(() => c.text('')));
  const [fails, idle] = await Promise.all([app.request('/fails'), app.request('/idle')]);
  assert.ok((durations(fails.headers.get('server-timing'))[1] ?? 0) >= 15);
  const [total = 0, db] = durations(idle.headers.get('server-timing'));
  assert.ok(total >= 35);
  assert.is(db, 0);
});

test('reads of the API tell it, failures too; what a cassette answers does not', async () => {
  const api = testApi({ execute: () => sleep(20).then(() => ({ sessions: [], next: null }) as never) });
  for (const path of ['/v1/sessions', '/v1/browse/sessions']) {
    const [total = 0, db = 0] = durations((await api.request(path)).headers.get('server-timing'));
    assert.ok(db >= 15 && total >= db, `${path}: ${total} ${db}`);
  }
  assert.ok((await api.request('/v1/sessions?limit=0')).headers.has('server-timing'));
  assert.ok((await api.request('/v1/sessions', { method: 'HEAD' })).headers.has('server-timing'));
  assert.not.ok((await api.request('/v1/cassettes/none/x')).headers.has('server-timing'));
  assert.not.ok((await api.request('/ping')).headers.has('server-timing'));
});

test.run();
