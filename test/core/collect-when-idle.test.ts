import { setTimeout as pause } from 'node:timers/promises';
import { getHeapStatistics } from 'node:v8';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { collect } from '../../core/collect-garbage.ts';
import { collectWhenIdle, leaveGarbage } from '../../core/collect-when-idle.ts';
import { eventually } from '../support/serve.ts';
import '../support/with-gc.ts';

const MB = 1_048_576;
const LOOK = { lookMs: 50, looks: 2 };
const test = suite('memory that an idle thread gives back');
let stop = () => {};
test.after.each(() => stop());

/** Some 40 MB that no longer grow young. */
function litter(): void {
  const old = Array.from({ length: 1_000_000 }, (_, n) => ({ n }));
  collect();
  old.length = 0;
}
const heap = () => getHeapStatistics().total_heap_size;

// First, since V8 collects sooner by itself after a thorough collection.
test('a thread that works is left alone', async () => {
  collect();
  stop = collectWhenIdle(LOOK);
  litter();
  const before = heap();
  for (const until = performance.now() + 1_000; performance.now() < until; ) {
    for (const busy = performance.now() + 20; performance.now() < busy; );
    await pause(1);
  }
  assert.ok(heap() > before - 16 * MB);
});

test('what its work left is collected once the thread is idle', async () => {
  stop = collectWhenIdle(LOOK);
  litter();
  const before = heap();
  await eventually('the collection', async () => heap() < before - 16 * MB, 10_000);
});

test('where little has come since the last collection there is no other, but after a cache was emptied', async () => {
  const { gc } = globalThis;
  let collections = 0;
  globalThis.gc = (() => {
    collections++;
  }) as typeof gc;
  try {
    stop = collectWhenIdle(LOOK);
    await eventually('the collection', async () => collections > 0, 10_000);
    const once = collections; // of one occasion, by the version of V8
    await pause(500);
    assert.is(collections, once);
    leaveGarbage();
    await eventually('another collection', async () => collections > once, 10_000);
    await pause(500);
    assert.is(collections, 2 * once);
  } finally {
    globalThis.gc = gc;
  }
});

test.run();
