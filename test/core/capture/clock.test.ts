import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { clockOf, instantNow, instantOf } from '../../../core/capture/clock.ts';
import { Instant } from '../../../core/capture/journal-format.ts';

const test = suite('clock');

test('an instant has microseconds', () => {
  assert.is(instantOf(0), '1970-01-01T00:00:00.000000Z');
  assert.is(instantOf(Date.UTC(2026, 10, 21, 9, 30, 0, 123) + 0.456), '2026-11-21T09:30:00.123456Z');
  assert.is(instantOf(Date.UTC(2026, 10, 21, 9, 30, 59, 999) + 0.75), '2026-11-21T09:30:59.999750Z');
  assert.is(instantOf(-1), '1969-12-31T23:59:59.999000Z');
});

test('now is an instant, and never before the one before', () => {
  const instants = Array.from({ length: 1000 }, instantNow);
  assert.ok(instants.every((instant) => Instant.safeParse(instant).success));
  assert.equal([...instants].sort(), instants);
  assert.ok(Math.abs(Date.parse(instantNow()) - Date.now()) < 5000);
});

test('a machine that slept is told by the wall clock', () => {
  let wall = 1000;
  let elapsed = 1000.25;
  const clock = clockOf(
    () => wall,
    () => elapsed,
  );
  assert.is(clock(), instantOf(1000.25));
  wall = 3_600_000;
  elapsed = 1001;
  assert.is(clock(), instantOf(3_600_000));
  wall += 2;
  elapsed += 2.5;
  assert.is(clock(), instantOf(3_600_002.5));
});

test('a clock set back a little stands still, one set back far is followed', () => {
  let wall = 100_000;
  const clock = clockOf(
    () => wall,
    () => 100_000,
  );
  assert.is(clock(), instantOf(100_000));
  wall = 99_500;
  assert.is(clock(), instantOf(100_000));
  wall = 50_000;
  assert.is(clock(), instantOf(50_000));
});

test.run();
