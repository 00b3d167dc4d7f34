/** What is remembered of transcripts that were read: of those that grow, not too much, and not for long. */
import { setTimeout as after } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openRecentReadings, type Reading } from '../../../../core/engine/transcript/recent-readings.ts';

const test = suite('recent readings');

const reading = (...sizes: number[]): Reading => ({
  parts: new Map(sizes.map((bytes, n) => [n, { records: [n], bytes }])),
  turns: new Map(),
});

test('a session that is read again is remembered, as it was read last', () => {
  const readings = openRecentReadings();
  readings.keep('a', reading(1));
  assert.is(readings.of('a').parts.size, 0);
  readings.keep('a', reading(1, 2));
  assert.is(readings.of('a').parts.size, 2);
  readings.keep('a', reading(1, 2, 3));
  assert.is(readings.of('a').parts.size, 3);
  assert.is(readings.of('b').parts.size, 0);
});

test('no more is held than so many bytes: the least recent are forgotten, and one that is larger is never held', () => {
  const readings = openRecentReadings(100);
  const twice = (session_id: string, one: Reading) => {
    readings.keep(session_id, one);
    readings.keep(session_id, one);
  };
  twice('a', reading(30, 20));
  twice('b', reading(40));
  readings.of('a');
  twice('c', reading(40));
  assert.equal(
    ['a', 'b', 'c'].map((id) => readings.of(id).parts.size),
    [2, 0, 1],
  );
  twice('a', reading(30, 200));
  assert.is(readings.of('a').parts.size, 0);
});

test('what is not read for a while is given back', async () => {
  const readings = openRecentReadings(100, 20);
  readings.keep('a', reading(1));
  readings.keep('a', reading(1));
  assert.is(readings.of('a').parts.size, 1);
  await after(100);
  assert.is(readings.of('a').parts.size, 0);
});

test.run();
