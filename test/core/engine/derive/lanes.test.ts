import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Lease } from '../../../../core/db/derive/derive-queue.ts';
import { openLanes } from '../../../../core/engine/derive/lanes.ts';

const test = suite('lanes of the derive worker');

/** Lanes in which what is started goes on until it is ended. */
function held(kind: 'embedded' | 'server') {
  let freed = 0;
  const lanes = openLanes(kind, () => {
    freed += 1;
  });
  const ends: (() => void)[] = [];
  const start = (waited: boolean, background = false) => {
    const lease = { session_id: '', lease_token: String(ends.length), mark: 0, background } as Lease;
    lanes.start(lease, () => new Promise<void>((done) => ends.push(done)), waited);
  };
  return { lanes, start, ends, freed: () => freed };
}

for (const [kind, most] of [
  ['embedded', 7],
  ['server', 3],
] as const)
  test(`sessions that waited take ${most} lanes of the ${kind} database, and leave one to what comes in`, () => {
    const { lanes, start } = held(kind);
    for (let left = most; left > 0; left--) {
      assert.is(lanes.freeForWaiting(), left);
      start(true);
    }
    assert.equal([lanes.freeForWaiting(), lanes.free()], [0, 1]);
    start(false);
    assert.ok(lanes.freeForWaiting() <= 0);
    assert.is(lanes.free(), 0);
  });

test('what comes in takes four, however many those that waited could take', () => {
  const { lanes, start } = held('embedded');
  for (let left = 4; left > 0; left--) {
    assert.is(lanes.free(), left);
    start(false);
  }
  assert.equal([lanes.free(), lanes.freeForWaiting()], [0, 3]);
});

test('a lane that ends is free, and says so; background is seen as long as it runs', async () => {
  const { lanes, start, ends, freed } = held('server');
  start(false, true);
  assert.equal([lanes.background(), lanes.idle()], [true, false]);
  ends[0]?.();
  await lanes.settled();
  assert.equal([lanes.background(), lanes.idle(), lanes.free(), freed()], [false, true, 4, 1]);
});

test.run();
