import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { diskStatus } from '../../../core/api/disk-status.ts';

const test = suite('diskStatus');

const now = Date.parse('2026-07-27T12:00:00Z');
const size = (hoursAgo: number, bytes: number) => {
  const measured_at = new Date(now - hoursAgo * 3_600_000).toISOString();
  return { day: measured_at.slice(0, 10), measured_at, bytes };
};
const at = (sizes: ReturnType<typeof size>[], freeBytes?: number) =>
  diskStatus({ now, databaseBytes: 1_000, logBytes: 10, freeBytes, sizes });

test('growth is that since the oldest measurement of a week, per day', () => {
  assert.equal(at([size(2, 999), size(30, 900), size(48, 800), size(24 * 8, 1)], 2_500), {
    bytes: 1_010,
    growth_bytes_per_day: 100,
    free_bytes: 2_500,
    days_left: 25,
    by_day: [
      { day: '2026-07-27', bytes: 999 },
      { day: '2026-07-26', bytes: 900 },
      { day: '2026-07-25', bytes: 800 },
      { day: '2026-07-19', bytes: 1 },
    ],
  });
});

test('less than a day tells no growth, and what shrinks or stays lasts', () => {
  assert.equal(at([], 5), { bytes: 1_010, free_bytes: 5, by_day: [] });
  assert.not('growth_bytes_per_day' in at([size(23, 1)]));
  const shrunk = at([size(24, 1_500)], 5);
  assert.equal([shrunk.growth_bytes_per_day, 'days_left' in shrunk], [-500, false]);
  assert.not('days_left' in at([size(24, 1_000)], 5));
  assert.not('days_left' in at([size(24, 1)]), 'nobody knows what is free');
});

test.run();
