/** The time of an ingested call is the sender's, to the microsecond; what cannot be is not believed. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { timesOf } from '../../../../core/engine/ingest/times.ts';

const NOW = '2026-11-21T12:00:00.000000Z';
const times = (meta: Parameters<typeof timesOf>[0], now = NOW) => {
  const { requested_at, last_byte_at } = timesOf(meta, () => now);
  return [requested_at, last_byte_at];
};
const LATE = '9998-12-31T23:59:59.999999Z'; // for which the last of these years is not far ahead
const at = (ts_request: unknown, now = NOW) => times({ ts_request }, now)[0];
const sent = '2026-11-21T09:30:00Z';
const captured = '2026-11-21T09:30:05.5Z';

const test = suite('ingest times');

test('the most telling of what is told counts', () => {
  const [SENT, CAPTURED] = ['2026-11-21T09:30:00.000000Z', '2026-11-21T09:30:05.500000Z'];
  for (const [meta, requested_at, last_byte_at] of [
    [{}, NOW, NOW],
    [{ elapsed_seconds: 4 }, NOW, NOW],
    [{ ts_request: sent }, SENT, SENT],
    [{ ts_request: sent, elapsed_seconds: 1.25 }, SENT, '2026-11-21T09:30:01.250000Z'],
    [{ captured_at: captured }, CAPTURED, CAPTURED],
    [{ captured_at: captured, elapsed_seconds: 2.000001 }, '2026-11-21T09:30:03.499999Z', CAPTURED],
    [{ ts_request: sent, captured_at: captured }, SENT, CAPTURED],
    [{ ts_request: sent, captured_at: captured, elapsed_seconds: 5 }, '2026-11-21T09:30:00.500000Z', CAPTURED],
    [{ ts_request: sent, captured_at: 'yesterday', elapsed_seconds: 5 }, SENT, '2026-11-21T09:30:05.000000Z'],
  ] as const) {
    assert.equal(times(meta), [requested_at, last_byte_at], JSON.stringify(meta));
  }
});

test('an answer never ends before its request', () => {
  assert.equal(times({ ts_request: captured, captured_at: sent }), [
    '2026-11-21T09:30:05.500000Z',
    '2026-11-21T09:30:05.500000Z',
  ]);
});

test('a duration is above zero and at most seven days', () => {
  const began = (elapsed_seconds: unknown) => times({ captured_at: captured, ts_request: sent, elapsed_seconds })[0];
  assert.is(began(604_800), '2026-11-14T09:30:05.500000Z');
  for (const none of [604_800.1, 0, -1, Number.POSITIVE_INFINITY, Number.NaN, '4', null, true, {}]) {
    assert.is(began(none), '2026-11-21T09:30:00.000000Z', String(none));
  }
});

test('an instant becomes UTC with six digits', () => {
  for (const [instant, utc] of [
    ['2026-11-21T09:30:00.1Z', '2026-11-21T09:30:00.100000Z'],
    ['2026-11-21T09:30:00.123456Z', '2026-11-21T09:30:00.123456Z'],
    ['2026-11-21T09:30:00.123456789Z', '2026-11-21T09:30:00.123456Z'],
    [`2026-11-21T09:30:00.${'9'.repeat(200)}Z`, '2026-11-21T09:30:00.999999Z'],
    ['2026-11-21t09:30:00z', '2026-11-21T09:30:00.000000Z'],
    ['2026-11-21 09:30:00+00:00', '2026-11-21T09:30:00.000000Z'],
    ['2026-11-21T09:30:00.5+05:45', '2026-11-21T03:45:00.500000Z'],
    ['2026-12-31T23:30:00-01:00', '2027-01-01T00:30:00.000000Z'],
    ['2028-02-29T00:00:00Z', '2028-02-29T00:00:00.000000Z'],
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000000Z'],
    ['1970-01-01T00:00:00Z', '1970-01-01T00:00:00.000000Z'],
    ['1969-12-31T23:30:00-01:00', '1970-01-01T00:30:00.000000Z'],
  ]) {
    assert.is(at(instant), utc, instant);
  }
  assert.is(at('9999-12-31T23:59:59.999999Z', LATE), '9999-12-31T23:59:59.999999Z');
});

test('what is no instant of these years is not believed', () => {
  for (const input of [
    '',
    '2026-11-21',
    '2026-11-21T09:30Z',
    '2026-11-21T09:30:00',
    '2026-11-21T09:30:00.Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-02-29T00:00:00Z',
    '2026-11-31T00:00:00Z',
    '2026-11-00T00:00:00Z',
    '2026-11-21T24:00:00Z',
    '2026-11-21T09:60:00Z',
    '2026-11-21T09:30:61Z',
    '2026-11-21T09:30:00+24:00',
    ' 2026-11-21T09:30:00Z',
    '2026-11-21T09:30:00Z\u0000',
    '0001-01-01T00:00:00Z',
    '0070-01-01T00:00:00Z',
    '1969-12-31T23:59:59.999999Z',
    '1970-01-01T00:30:00+01:00',
    '9999-12-31T23:59:59-00:01',
    '+12026-11-21T09:30:00Z',
    1_795_253_400,
    null,
    {},
  ]) {
    assert.is(at(input), NOW, String(input));
    assert.is(at(input, LATE), LATE, String(input));
  }
});

test('what lies more than ten years ahead is not believed, or its session would be the newest for ever', () => {
  assert.is(at('2036-11-21T12:00:00Z'), '2036-11-21T12:00:00.000000Z');
  for (const ahead of ['2036-11-21T12:00:00.000001Z', '2099-01-01T00:00:00Z', '9999-12-31T23:59:59Z']) {
    assert.equal(times({ ts_request: ahead }), [NOW, NOW], ahead);
    assert.equal(times({ captured_at: ahead, elapsed_seconds: 4 }), [NOW, NOW], ahead);
    const kept = '2026-11-21T09:30:00.000000Z';
    assert.equal(times({ ts_request: sent, captured_at: ahead }), [kept, kept], ahead);
  }
  assert.is(at('2038-02-28T00:00:00Z', '2028-02-29T00:00:00.000000Z'), '2038-02-28T00:00:00.000000Z', 'a leap day');
});

test('a duration that leads out of these years is not applied', () => {
  const [first, last] = ['1970-01-01T00:00:01Z', '9999-12-31T23:59:59Z'];
  assert.is(times({ captured_at: first, elapsed_seconds: 2 })[0], '1970-01-01T00:00:01.000000Z');
  assert.is(times({ ts_request: last, elapsed_seconds: 2 }, LATE)[1], '9999-12-31T23:59:59.000000Z');
});

test.run();
