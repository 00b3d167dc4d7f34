import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { PROXY_FLAGS, SERVICE_FLAGS } from '../../core/service-flags.ts';

const MB = 1_048_576;
const test = suite('flags of the processes');

/** What a script logs in a process with these flags. */
const logged = async (flags: readonly string[], script: string): Promise<string> => {
  const args = [...flags, '--input-type=module', '-e', script];
  return (await promisify(execFile)(process.execPath, args)).stdout.trim();
};

/** `gc` in the main thread, and in a worker thread that is started as start-worker.ts starts one. */
const WHO_HAS_GC = `
  import { Worker } from 'node:worker_threads';
  const code = 'require("node:worker_threads").parentPort.postMessage(typeof gc)';
  new Worker(code, { eval: true, execArgv: [], resourceLimits: { maxYoungGenerationSizeMb: 4 } })
    .on('message', (inWorker) => console.log(typeof gc, inWorker));`;

test('the main thread and the worker threads of the service and of a proxy have gc; others have not', async () => {
  assert.is(await logged([], WHO_HAS_GC), 'undefined undefined');
  assert.is(await logged(SERVICE_FLAGS, WHO_HAS_GC), 'function function');
  assert.is(await logged(PROXY_FLAGS, WHO_HAS_GC), 'function function');
});

const THREADS = `console.log(require('node:fs').readdirSync('/proc/self/task').length)`;

test('on Node 20, V8 has no more threads of its own than there are other processors', async () => {
  if (process.platform !== 'linux') return;
  const threads = async (flags: readonly string[]) =>
    Number((await promisify(execFile)(process.execPath, [...flags, '-e', THREADS])).stdout);
  const ofNode = 4;
  const isBounded = process.versions.node.startsWith('20.');
  const expected = isBounded ? Math.min(Math.max(availableParallelism() - 1, 1), ofNode) : ofNode;
  assert.is((await threads([])) - (await threads(SERVICE_FLAGS)), ofNode - expected);
});

/** The bytes of the young generation after much that outlives a collection or two. */
const YOUNG = `
  import { getHeapSpaceStatistics } from 'node:v8';
  const alive = [];
  for (let n = 0; n < 3_000_000; n++) {
    alive.push({ n });
    if (alive.length > 200_000) alive.splice(0, 100_000);
  }
  console.log(getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size);`;

test('the young generation of a proxy stays small', async () => {
  const unbounded = Number(await logged([], YOUNG));
  assert.ok(unbounded > 8 * MB, `${unbounded} bytes without a bound`);
  const young = Number(await logged(PROXY_FLAGS, YOUNG));
  assert.ok(young > 0 && young <= 8 * MB, `${young} bytes`);
});

/** The most that the old generation grows to, as a multiple of what is live, in a worker thread that replaces all of it many times. */
const GROWTH = `
  import { Worker } from 'node:worker_threads';
  const code = \`
    const { getHeapSpaceStatistics } = require('node:v8');
    const old = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space').space_used_size;
    const alive = Array.from({ length: 600_000 }, (_, n) => ({ n, text: 'one ' + n }));
    gc();
    const live = old();
    let most = 0;
    for (let n = 0; n < 9_000_000; n++) {
      alive[(n * 7_919) % alive.length] = { n, text: 'one ' + n };
      if (n % 50_000 === 0) most = Math.max(most, old());
    }
    require('node:worker_threads').parentPort.postMessage(most / live)\`;
  new Worker(code, { eval: true, execArgv: [] }).on('message', (growth) => console.log(growth));`;

test('the heap of a busy thread stays nearer to what is live', async () => {
  const unbounded = Number(await logged(['--expose-gc'], GROWTH));
  assert.ok(unbounded > 1, `${unbounded} times without the flag`);
  const growth = Number(await logged(SERVICE_FLAGS, GROWTH)); // on Node 20 to 26 some 0.6 of it
  assert.ok(growth > 1 && growth < 0.85 * unbounded, `${growth} times, and ${unbounded} without the flag`);
});

test.run();
