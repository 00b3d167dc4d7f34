import { setTimeout as pause } from 'node:timers/promises';
import { runInNewContext } from 'node:vm';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { collectAfterLarge, collector } from '../../core/collect-garbage.ts';

const MB = 1_048_576;
const test = suite('garbage that is collected early');

test('all memory is looked at, or what is young, and nobody else is handed the collector', () => {
  const collect = collector();
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
  assert.is(runInNewContext('typeof gc'), 'undefined');
});

test('what large values leave behind does not pile up, and small ones are not counted', async () => {
  const left = collectAfterLarge({ large: MB, enough: 8 * MB, afterMs: 0 });
  const collect = collector();
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

test.run();
