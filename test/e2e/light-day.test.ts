/** A light day's calls, and the memory of each process. (At length: `npm run soak -- idle`.) */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { lightDay } from '../support/light-day.ts';
import type { MemorySample } from '../support/process-memory.ts';

const test = suite('a light day (embedded)');

test('every call is captured, and the memory of the service is seen after each', async () => {
  const samples: MemorySample[] = [];
  await lightDay({ cluster: '' }, { calls: 8, everyMs: 200 }, (sample) => samples.push(sample));
  assert.is(samples.length, 8);
  for (const [which, leastMib] of [
    [/^cli\/main\.[jt]s serve/, 10],
    [/^svc: capture proxy$/, 10],
    [/^svc: service$/, 50],
  ] as const) {
    const held = samples.map(({ processes }) => processes.find(({ name }) => which.test(name))?.mib ?? 0);
    assert.ok(Math.min(...held) > leastMib, JSON.stringify(samples));
  }
});

test.run();
