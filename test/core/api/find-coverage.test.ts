/** How old may counts be that are shown, where counting takes long and where it does not? */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openFindCoverage } from '../../../core/api/find-coverage.ts';
import type { Database } from '../../../core/db/database.ts';

const test = suite('counts of the index of texts');

/** Each count takes `ms` of a clock that stands still otherwise, and finds one span more than the last. */
function counted(ms: number) {
  const clock = { at: 0 };
  let spans = 0;
  const execute = (async () => {
    clock.at += ms;
    spans += 1;
    return { spans, spans_indexed: 0 };
  }) as unknown as Database['execute'];
  const coverage = openFindCoverage(execute, () => clock.at);
  return { clock, spans: async () => (await coverage()).spans };
}

test('a quick count is made again after fifty times as long as it took', async () => {
  const { clock, spans } = counted(10);
  assert.is(await spans(), 1);
  clock.at += 480;
  assert.is(await spans(), 1);
  clock.at += 20;
  assert.is(await spans(), 2);
});

test('a slow count is made again after two seconds, and whoever comes then is not kept waiting', async () => {
  const { clock, spans } = counted(300);
  assert.is(await spans(), 1);
  clock.at += 1_600;
  assert.is(await spans(), 1);
  clock.at += 200;
  assert.is(await spans(), 1, 'it is counted meanwhile');
  assert.is(await spans(), 2);
});

test('counts of more than ten seconds ago are not shown', async () => {
  const { clock, spans } = counted(300);
  assert.is(await spans(), 1);
  clock.at += 60_000;
  assert.is(await spans(), 2);
});

test.run();
