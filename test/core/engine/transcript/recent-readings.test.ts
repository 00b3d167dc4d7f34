/** What is remembered of transcripts that were read: of those that grow, not too much, and not for long. */
import { setTimeout as after } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  openRecentReadings,
  type RecentReading,
  type RecentReadings,
} from '../../../../core/engine/transcript/recent-readings.ts';

const test = suite('recent readings');

const reading = (...sizes: number[]): RecentReading => ({
  parts: new Map(sizes.map((bytes, n) => [n, { records: [n], bytes }])),
  turns: new Map(),
});

const heldOf = (readings: RecentReadings, session_id: string) => readings.of(session_id)?.parts.size;

test('a session that is read again is remembered, as it was read last', () => {
  const readings = openRecentReadings();
  assert.is(readings.of('a'), null);
  readings.keep('a', null);
  assert.is(heldOf(readings, 'a'), 0);
  readings.keep('a', reading(1, 2));
  assert.is(heldOf(readings, 'a'), 2);
  readings.keep('a', reading(1, 2, 3));
  assert.is(heldOf(readings, 'a'), 3);
  assert.is(readings.of('b'), null);
});

test('no more is held than so many bytes: the least recent are forgotten, and one that is larger is never held', () => {
  const readings = openRecentReadings(100);
  readings.keep('a', reading(30, 20));
  readings.keep('b', reading(40));
  readings.of('a');
  readings.keep('c', reading(40));
  assert.equal(
    ['a', 'b', 'c'].map((id) => heldOf(readings, id)),
    [2, 0, 1],
  );
  readings.keep('a', reading(30, 200));
  assert.is(heldOf(readings, 'a'), 0);
});

test('what is not read for a while is given back', async () => {
  const readings = openRecentReadings(100, 20);
  readings.keep('a', reading(1));
  assert.is(heldOf(readings, 'a'), 1);
  await after(100);
  assert.is(readings.of('a'), null);
});

test.run();
