/** Are numbers short, and never rounded to something they are not? */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  agoText,
  bytesText,
  costText,
  countText,
  durationText,
  grouped,
  momentText,
} from '../../../../core/web/client/parts/number-text.ts';

const test = suite('numbers as people read them');

test('a cost that is not zero never looks like zero', () => {
  const texts = [0, 5.459, 1234.5, 0.213405, 0.0234, 0.00042, 0.0000001, -0.5].map(costText);
  assert.equal(texts, ['$0', '$5.46', '$1,234.50', '$0.21', '$0.023', '$0.00042', '<$0.000001', '−$0.50']);
});

test('counts and bytes change their unit where they reach it', () => {
  assert.equal([0, 999, 1_000, 9_999, 10_000, 184_201, 999_600, 1_310_000].map(countText), [
    ...['0', '999', '1,000', '9,999', '10k', '184k', '1.0M', '1.3M'],
  ]);
  assert.equal([999, 1_000, 187_000, 2_200_000].map(bytesText), ['999 B', '1.0 kB', '187 kB', '2.2 MB']);
});

test('digits in groups of three, and moments to the second in local time', () => {
  assert.equal([0, 999, 1_000, 65_536, 1_234_567, 12_345_678_901].map(grouped), [
    ...['0', '999', '1,000', '65,536', '1,234,567', '12,345,678,901'],
  ]);
  assert.equal([-123_456, -1_234, 12.5, 1_234.25].map(grouped), ['-123,456', '-1,234', '12.5', '1,234.25']);
  assert.is(momentText(new Date(2026, 0, 5, 9, 7, 3).getTime()), '2026-01-05 09:07:03');
});

test('times have the unit that fits them', () => {
  assert.equal([12, 4_500, 999_499, 1_900_000, 59_960_000, 671_877_056, 7_380_000_000].map(durationText), [
    '12 µs',
    '5 ms',
    '999 ms',
    '1.9 s',
    '1m 0s',
    '11m 12s',
    '2h 3m',
  ]);
  assert.equal([-500, 2_000, 42_000, 42 * 60_000, 26 * 3_600_000].map(agoText), [
    ...['now', 'now', '42s ago', '42m ago', '1d ago'],
  ]);
});

test.run();
