/** When is a cache emptied: some time after its last use, and not while it is used. */
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { whenUnused } from '../../../core/engine/when-unused.ts';
import { eventually } from '../../support/eventually.ts';

const test = suite('what is cleared when it is not used');

const UNUSED_MS = 200;

test('nothing is cleared that was never used', async () => {
  let cleared = 0;
  whenUnused(1, () => cleared++);
  await sleep(50);
  assert.is(cleared, 0);
});

test('it is cleared once, and no sooner than so long after the last use', async () => {
  let clearedAt: number[] = [];
  const used = whenUnused(UNUSED_MS, () => clearedAt.push(performance.now()));
  let lastUse = 0;
  for (let n = 0; n < 8; n++) {
    lastUse = performance.now();
    used();
    await sleep(UNUSED_MS / 4);
  }
  assert.equal(clearedAt, [], 'used four times as often');
  await eventually(() => clearedAt.length > 0);
  assert.ok((clearedAt[0] ?? 0) - lastUse >= UNUSED_MS - 2, 'so long after the last use');
  await sleep(2 * UNUSED_MS);
  assert.is(clearedAt.length, 1);

  clearedAt = [];
  used();
  await eventually(() => clearedAt.length > 0);
});

test.run();
