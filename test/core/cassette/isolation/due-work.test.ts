import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openDueWork } from '../../../../core/cassette/isolation/due-work.ts';

const test = suite('work that is due');

test('how long to wait after a failure does not depend on the time of day', async () => {
  const dateNow = Date.now;
  let offsetMs = 0;
  let runs = 0;
  Date.now = () => dateNow() + offsetMs;
  const whenDue = openDueWork({ changes: async () => ({ seen: '4:4:', changed: true }), progress: () => null });
  const fails = async () => {
    runs += 1;
    throw new Error('the moon is full');
  };
  try {
    await whenDue(fails).catch(() => {});
    offsetMs = 3_600_000;
    await whenDue(fails).catch(() => {});
    assert.is(runs, 1);
  } finally {
    Date.now = dateNow;
  }
});

test.run();
