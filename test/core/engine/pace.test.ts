/** Does the engine rest while the listeners have their hands full, and only then? */
import { setTimeout as after } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openPace, watchListeners } from '../../../core/engine/pace.ts';
import { eventually } from '../../support/eventually.ts';

const test = suite('pace');
const HOUR_MS = 3_600_000;

const stateOf = async (rest: Promise<void>) => Promise.race([rest.then(() => 'goes on'), after(20, 'rests')]);

test('nobody rests while the listeners have time', async () => {
  const { rest } = openPace(new AbortController().signal);
  assert.is(await stateOf(rest(HOUR_MS)), 'goes on');
});

test('after work of some length comes a rest, which ends as soon as the listeners have time', async () => {
  const { busy, rest } = openPace(new AbortController().signal);
  busy(true);
  await after(1_000);
  const long = rest(HOUR_MS);
  assert.is(await stateOf(long), 'rests');
  busy(false);
  assert.is(await stateOf(long), 'goes on');
  assert.is(await stateOf(rest(HOUR_MS)), 'goes on');
});

test('nobody rests for longer than the listeners have been busy', async () => {
  const { busy, rest } = openPace(new AbortController().signal);
  busy(true);
  await rest(HOUR_MS); // or this test never ends
});

test('who is asked to stop does not rest', async () => {
  const stopping = new AbortController();
  const { busy, rest } = openPace(stopping.signal);
  busy(true);
  await after(1_000);
  const long = rest(HOUR_MS);
  stopping.abort();
  assert.is(await stateOf(long), 'goes on');
  assert.is(await stateOf(rest(HOUR_MS)), 'goes on');
});

test('a loop that is at work nearly all the time is busy, until it has time again', async () => {
  const heard: boolean[] = [];
  const unwatch = watchListeners(
    () => true,
    (busy) => heard.push(busy),
  );
  await workUntil(() => heard.length === 1);
  await eventually(() => heard.length === 2);
  assert.equal(heard, [true, false]);
  unwatch();
});

test('without room for what waits nobody is spared', async () => {
  const heard: boolean[] = [];
  let room = true;
  const unwatch = watchListeners(
    () => room,
    (busy) => heard.push(busy),
  );
  await workUntil(() => heard.length === 1);
  room = false;
  await workUntil(() => heard.length === 2);
  assert.equal(heard, [true, false]);
  unwatch();
});

/** Keeps the loop at work without keeping its timers from running. */
async function workUntil(done: () => boolean): Promise<void> {
  const patience = performance.now() + 30_000;
  while (!done()) {
    assert.ok(performance.now() < patience, 'it was never heard');
    for (const until = performance.now() + 20; performance.now() < until; ) Math.sqrt(until);
    await new Promise((next) => setImmediate(next));
  }
}

test.run();
