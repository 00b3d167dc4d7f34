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
    await whenDue(fails, new AbortController().signal).catch(() => {});
    offsetMs = 3_600_000;
    await whenDue(fails, new AbortController().signal).catch(() => {});
    assert.is(runs, 1);
  } finally {
    Date.now = dateNow;
  }
});

for (const [what, ends] of [
  ['returns', async () => {}],
  ['throws', () => Promise.reject(new Error('it was called off'))],
] as const)
  test(`a run that is called off and ${what} is due again at once`, async () => {
    const seen: string[] = [];
    const changes = async (since: string) => {
      seen.push(since);
      return { seen: '4:4:', changed: since !== '4:4:' };
    };
    const whenDue = openDueWork({ changes, progress: () => null });
    const calledOff = new AbortController();
    const run = () => {
      calledOff.abort();
      return ends();
    };
    await whenDue(run, calledOff.signal).catch(() => {});
    let runs = 0;
    const work = async () => void runs++;
    for (let n = 0; n < 2; n++) await whenDue(work, new AbortController().signal);
    assert.equal([runs, seen], [1, ['3:3:', '3:3:', '4:4:']]);
  });

test('items that stay failed are tried ever more seldom, and as before once one of them succeeds', async () => {
  const MINUTE = 60_000;
  let minute = 0;
  let failed = 3;
  const whenDue = openDueWork({
    changes: async (since) => ({ seen: '4:4:', changed: since !== '4:4:' }),
    progress: () => ({ done: 0, pending: 0, failed }),
    now: () => minute * MINUTE,
  });
  const runs: number[] = [];
  const run = async () => {
    runs.push(minute);
    if (minute === 35) failed = 2;
  };
  for (; minute <= 60; minute++) await whenDue(run, new AbortController().signal);
  assert.equal(runs, [0, 5, 15, 35, 40, 50]);
});

test('what fails for the first time is tried soon, however many runs were there before', async () => {
  const MINUTE = 60_000;
  let minute = 0;
  let failed = 0;
  const whenDue = openDueWork({
    changes: async () => ({ seen: `${minute}:${minute}:`, changed: minute <= 10 }),
    progress: () => ({ done: 0, pending: 0, failed }),
    now: () => minute * MINUTE,
  });
  const runs: number[] = [];
  const run = async () => {
    runs.push(minute);
    failed = minute === 10 ? 1 : 0;
  };
  for (; minute <= 30; minute++) await whenDue(run, new AbortController().signal);
  assert.equal(runs, [...Array.from({ length: 11 }, (_, n) => n), 15]);
});

test.run();
