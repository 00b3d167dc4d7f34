import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  instantOf,
  isEmpty,
  sessionFilename,
  stampOf,
  windowFilename,
  windowOf,
} from '../../../cassettes/export/window.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const at = (stamp: string): bigint => instantOf(stamp) as bigint;
const whole = (since: string | null, until: string | null = null) =>
  windowOf({ since: since === null ? null : at(since), until: until === null ? null : at(until) }, NOW);
const named = (since: string | null, until: string | null = null, detail: 'spans' | 'traces' = 'spans') =>
  windowFilename(whole(since, until), since !== null || until !== null, detail, NOW);

const test = suite('export window');

test('without since the window is the last 30 days', () => {
  assert.is(stampOf(whole(null).since), '2026-10-22T12:00:00.000000Z');
  assert.is(whole(null).until, null);
});

test('a since older than 30 days is silently 30 days ago', () => {
  for (const old of ['2026-10-22T11:59:59.999999Z', '2020-01-01T00:00:00Z', '0000-01-01T00:00:00Z'])
    assert.equal(whole(old), whole(null), old);
});

test('a since within the window is honoured to the microsecond, and so is until', () => {
  const { since, until } = whole('2026-10-22T12:00:00.000001Z', '2026-11-01T02:00:00.5+02:00');
  assert.equal([stampOf(since), stampOf(until)], ['2026-10-22T12:00:00.000001Z', '2026-11-01T00:00:00.500000Z']);
});

test('an until that is not after since leaves nothing', () => {
  assert.ok(isEmpty(whole('2026-11-02T00:00:00Z', '2026-11-02T00:00:00Z')));
  assert.ok(isEmpty(whole(null, '2026-10-01T00:00:00Z')), 'before the window');
  assert.not.ok(isEmpty(whole('2026-11-02T00:00:00Z', '2026-11-02T00:00:00.000001Z')));
  assert.not.ok(isEmpty(whole('2026-11-22T00:00:00Z')), 'an open end');
});

test('what is finer than a microsecond goes up, as turns have whole ones', () => {
  assert.is(stampOf(at('2026-11-20T10:00:00.0000001Z')), '2026-11-20T10:00:00.000001Z');
  assert.is(stampOf(at('2026-11-20T10:00:00.123456000Z')), '2026-11-20T10:00:00.123456Z');
  assert.is(stampOf(at('1969-12-31T23:59:59.5Z')), '1969-12-31T23:59:59.500000Z');
});

test('RFC 3339 is read as it is defined, leap seconds and lower case letters too', () => {
  assert.is(stampOf(at('2026-11-20t10:00:00-03:30')), '2026-11-20T13:30:00.000000Z');
  assert.is(stampOf(at('2016-12-31T23:59:60z')), '2017-01-01T00:00:00.000000Z');
  assert.is(stampOf(at('9999-12-31T23:59:59-01:00')), 'infinity');
});

test('anything else is malformed', () => {
  for (const stamp of [
    ...['', 'now', '2026-11-20', '2026-11-20T10:00:00', '2026-11-20 10:00:00Z', '2026-11-20T10:00Z', '1763632800'],
    ...['2026-02-30T10:00:00Z', '2026-13-01T10:00:00Z', '2026-11-20T24:00:00Z', '2026-11-20T10:60:00Z'],
    ...['2026-11-20T10:00:61Z', '2026-11-20T10:00:00.Z', '2026-11-20T10:00:00 02:00', '2026-11-20T10:00:00+25:00'],
    ...['2026-11-20T10:00:00Z ', '+2026-11-20T10:00:00Z', '２026-11-20T10:00:00Z'],
  ])
    assert.is(instantOf(stamp), null, stamp);
});

test('sessions-last-30-days-<date>.jsonl for the default window', () => {
  assert.is(named(null), 'sessions-last-30-days-2026-11-21.jsonl');
  assert.is(named(null, null, 'traces'), 'sessions-last-30-days-2026-11-21-traces.jsonl');
});

test('sessions-<date>-to-<date>.jsonl when since or until is given', () => {
  assert.is(named('2026-11-02T00:00:00Z', '2026-11-09T00:00:00Z'), 'sessions-2026-11-02-to-2026-11-09.jsonl');
  assert.is(named('2026-11-02T00:00:00Z'), 'sessions-2026-11-02-to-2026-11-21.jsonl', 'an open end is today');
  assert.is(named(null, '2026-11-09T00:00:00Z'), 'sessions-2026-10-22-to-2026-11-09.jsonl');
  assert.is(named('2020-01-01T00:00:00Z'), 'sessions-2026-10-22-to-2026-11-21.jsonl', 'as it was clamped');
  assert.is(named('2026-11-02T00:00:00Z', null, 'traces'), 'sessions-2026-11-02-to-2026-11-21-traces.jsonl');
});

test('an empty window does not end before it begins, also where since was clamped', () => {
  assert.is(named('2025-12-01T00:00:00Z', '2025-12-29T00:00:00Z'), 'sessions-2025-12-29-to-2025-12-29.jsonl');
  assert.is(named('2026-11-05T00:00:00Z', '2026-11-03T00:00:00Z'), 'sessions-2026-11-03-to-2026-11-03.jsonl');
  assert.is(named('2026-11-25T00:00:00Z'), 'sessions-2026-11-25-to-2026-11-25.jsonl', 'an open end is not before it');
});

test('dates are those of UTC', () => {
  assert.is(named('2026-11-02T01:00:00+03:00'), 'sessions-2026-11-01-to-2026-11-21.jsonl');
});

test('session-<id>-<date>.jsonl, and -traces before .jsonl', () => {
  const id = '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10';
  assert.is(sessionFilename(id, 'spans', NOW), `session-${id}-2026-11-21.jsonl`);
  assert.is(sessionFilename(id, 'traces', NOW), `session-${id}-2026-11-21-traces.jsonl`);
});

test.run();
