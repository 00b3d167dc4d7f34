/** Does the engine rest while the listeners have their hands full, and only then? */
import { setTimeout as after } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openEngineThrottle, type Passing, watchListeners } from '../../../core/engine/engine-throttle.ts';
import { eventually } from '../../support/eventually.ts';

const test = suite('throttle of the engine');
const HOUR_MS = 3_600_000;

const stateOf = async (rest: Promise<void>) => Promise.race([rest.then(() => 'goes on'), after(20, 'rests')]);

test('nobody rests while the listeners have time', async () => {
  const { pause } = openEngineThrottle(new AbortController().signal);
  assert.is(await stateOf(pause(HOUR_MS)), 'goes on');
});

test('after work of some length comes a rest, which ends as soon as the listeners have time', async () => {
  const { busy, pause } = openEngineThrottle(new AbortController().signal);
  busy(true);
  await after(1_000);
  const long = pause(HOUR_MS);
  assert.is(await stateOf(long), 'rests');
  busy(false);
  assert.is(await stateOf(long), 'goes on');
  assert.is(await stateOf(pause(HOUR_MS)), 'goes on');
});

test('nobody rests for longer than the listeners have been busy', async () => {
  const { busy, pause } = openEngineThrottle(new AbortController().signal);
  busy(true);
  const rest = pause(HOUR_MS).then(() => 'goes on');
  assert.is(await Promise.race([rest, after(5_000, 'rests', { ref: false })]), 'goes on');
});

test('who is asked to stop does not rest', async () => {
  const stopping = new AbortController();
  const { busy, pause } = openEngineThrottle(stopping.signal);
  busy(true);
  await after(1_000);
  const long = pause(HOUR_MS);
  stopping.abort();
  assert.is(await stateOf(long), 'goes on');
  assert.is(await stateOf(pause(HOUR_MS)), 'goes on');
});

test('a flood of calls that keeps the loop at work makes it busy, until there is time again', async () => {
  const { passing, heard } = flood();
  const unwatch = watchListeners(passing, (busy) => heard.push(busy));
  await workUntil(() => heard.length === 1);
  await eventually(() => heard.length === 2);
  assert.equal(heard, [true, false]);
  unwatch();
});

test('without room for what waits nobody is spared', async () => {
  const { passing, heard } = flood();
  let room = true;
  const unwatch = watchListeners({ ...passing, hasRoom: () => room }, (busy) => heard.push(busy));
  await workUntil(() => heard.length === 1);
  room = false;
  await workUntil(() => heard.length === 2);
  assert.equal(heard, [true, false]);
  unwatch();
});

test('work that is not of many calls lets no turn wait', async () => {
  const { passing, heard } = flood();
  let looks = 0;
  const hasRoom = () => {
    looks++; // asked only in a flood of calls
    return true;
  };
  const unwatch = watchListeners({ calls: () => 1, hasRoom }, (busy) => heard.push(busy));
  const also: boolean[] = [];
  const unwatchFlood = watchListeners(passing, (busy) => also.push(busy));
  await workUntil(() => also.length === 1);
  assert.equal(heard, []);
  assert.is(looks, 0);
  unwatch();
  unwatchFlood();
});

/** Calls without end, and room for them. */
function flood() {
  let calls = 0;
  const passing: Passing = {
    calls: () => {
      calls += 100_000;
      return calls;
    },
    hasRoom: () => true,
  };
  return { passing, heard: [] as boolean[] };
}

/** Keeps the loop at work without keeping its timers from running. */
async function workUntil(done: () => boolean): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!done()) {
    assert.ok(performance.now() < deadline, 'it was never heard');
    for (const until = performance.now() + 20; performance.now() < until; ) Math.sqrt(until);
    await new Promise((next) => setImmediate(next));
  }
}

test.run();
