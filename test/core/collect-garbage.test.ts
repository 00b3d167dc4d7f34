import { setTimeout as pause } from 'node:timers/promises';
import { getHeapStatistics } from 'node:v8';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { collect, collectAfterLarge, collectAvailable } from '../../core/collect-garbage.ts';
import '../support/with-gc.ts';

const MB = 1_048_576;
const test = suite('garbage that is collected early');

test('all memory is looked at, or what is young', () => {
  const old = Array.from({ length: 300_000 }, (_, n) => ({ n }));
  collect(); // it is no longer young
  old.length = 0;
  const before = process.memoryUsage().heapUsed;
  collect({ type: 'minor' });
  const afterMinor = process.memoryUsage().heapUsed;
  collect();
  const after = process.memoryUsage().heapUsed;
  assert.ok(before - afterMinor < 5 * MB, `${before} ${afterMinor}`);
  assert.ok(afterMinor - after > 5 * MB, `${afterMinor} ${after}`);
});

test('pages of which little is left are given back too', async () => {
  const all = Array.from({ length: 1_000_000 }, (_, n) => ({ n, list: [n] }));
  collect(); // they are no longer young
  const kept = all.filter(({ n }) => n % 4 === 0);
  all.length = 0;
  await collectAvailable();
  const { total_heap_size, used_heap_size } = getHeapStatistics();
  assert.ok(total_heap_size < 2.5 * used_heap_size, `${total_heap_size / MB} MB for ${used_heap_size / MB}`);
  assert.is(kept.length, 250_000);
});

test('what large values leave behind does not pile up, and small ones are not counted', async () => {
  const left = collectAfterLarge({ large: MB, enough: 8 * MB, afterMs: 0 });
  collect();
  const before = process.memoryUsage().heapUsed;
  let peak = 0;
  for (let n = 0; n < 20; n++) {
    let value: unknown[] = Array.from({ length: 400_000 }, (_, each) => ({ each })); // some 15 MB, old by now
    collect({ type: 'minor' });
    collect({ type: 'minor' });
    value = [];
    left(10 * MB);
    await pause(2);
    peak = Math.max(peak, process.memoryUsage().heapUsed - before);
    assert.is(value.length, 0);
  }
  assert.ok(peak < 60 * MB, `${Math.round(peak / MB)} MB`);
});

test('without gc nothing is forced, and nothing fails', async () => {
  const { gc } = globalThis;
  globalThis.gc = undefined;
  try {
    collect();
    collect({ type: 'minor' });
    collectAfterLarge({ large: 1, enough: 1, afterMs: 0 })(1);
    await pause(20);
  } finally {
    globalThis.gc = gc;
  }
});

test.run();
