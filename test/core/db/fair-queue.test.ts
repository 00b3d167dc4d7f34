import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openFairQueue } from '../../../core/db/fair-queue.ts';

const test = suite('fair queue');

test('the service goes first, then owners in turn, one at a time', async () => {
  const queue = openFairQueue({ freeMs: 60_000, mostMs: 60_000 });
  const order: string[] = [];
  let running = 0;
  const work = (name: string) => async () => {
    running += 1;
    assert.is(running, 1);
    await sleep(1);
    order.push(name);
    running -= 1;
  };
  const jobs: [owner: string | null, name: string][] = [
    ['a', 'a1'],
    ['a', 'a2'],
    ['a', 'a3'],
    ['b', 'b1'],
    [null, 'ours 1'],
    [null, 'ours 2'],
  ];
  await Promise.all(jobs.map(([owner, name]) => queue.run(owner, work(name))));
  assert.equal(order, ['ours 1', 'ours 2', 'a1', 'b1', 'a2', 'a3']);
});

test('a thread that always has the next job ready does not keep out what else arrives', async () => {
  const queue = openFairQueue({ freeMs: 60_000, mostMs: 60_000 });
  const busy = new Worker(
    `const { parentPort } = require('node:worker_threads');
     parentPort.on('message', () => parentPort.postMessage('next'));
     for (let i = 0; i < 3; i++) parentPort.postMessage('first');`,
    { eval: true },
  );
  let jobs = 0;
  busy.on('message', () => {
    void queue.run(null, async () => {
      jobs += 1;
      for (const end = performance.now() + 2; performance.now() < end; ); // as a statement of the embedded database does
      if (jobs < 500) busy.postMessage('done');
    });
  });
  await once(busy, 'message');
  await sleep(10);
  await busy.terminate();
  assert.ok(jobs < 100, `${jobs} jobs were run before a timer of 10 ms`);
});

test('those who take long rest as long, together, while others go on', async () => {
  const queue = openFairQueue({ freeMs: 10, mostMs: 60_000 });
  const began = performance.now();
  await Promise.all(['a', 'b'].map((owner) => queue.run(owner, () => sleep(210))));
  const order: string[] = [];
  const ran = (name: string) => async () => void order.push(name);
  await Promise.all([
    queue.run('a', ran('a')),
    queue.run('b', ran('b')),
    queue.run('c', ran('c')),
    queue.run(null, ran('ours')),
  ]);
  assert.equal(order.slice(0, 2).sort(), ['c', 'ours']);
  assert.ok(performance.now() - began >= 600, 'both have paid');
});

test('what fails leaves the queue in order, and what waits can be given up', async () => {
  const queue = openFairQueue({ freeMs: 0, mostMs: 60_000 });
  const failed = await queue.run('a', () => sleep(300).then(() => Promise.reject(new Error('it fails')))).catch(String);
  assert.is(failed, 'Error: it fails');
  const waiting = queue.run('a', async () => {}).catch(String);
  queue.refuseWaiting(new Error('closing'));
  assert.is(await waiting, 'Error: closing');
  await queue.idle();
});

test.run();
