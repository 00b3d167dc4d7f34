import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { sweeping } from '../../proxy/sweep.ts';
import '../support/with-gc.ts';

const MB = 1_048_576;
const test = suite('proxy: sweeping');

test('what a large body leaves behind never piles up', async () => {
  const swept = sweeping();
  const before = process.memoryUsage().arrayBuffers;
  let peak = before;
  for (let i = 0; i < 3200; i++) {
    swept(Buffer.allocUnsafeSlow(65_536));
    peak = Math.max(peak, process.memoryUsage().arrayBuffers);
    if (i % 16 === 0) await new Promise((next) => setImmediate(next)); // as between two reads
  }
  assert.ok(peak - before < 24 * MB, `${Math.round((peak - before) / MB)} MB were held at once`);
});

test.run();
