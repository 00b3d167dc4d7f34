/** What the status says of the disk: what is taken, how it grows, and how long the rest lasts. */
import type { OperationResult } from '../db/database.ts';
import type { Status } from '../model/status.ts';

type Measured = {
  /** Milliseconds since 1970. */
  now: number;
  /** Of the database, now. */
  databaseBytes: number;
  /** Of what is written before it comes into the database: the journal, and the write-ahead log of an embedded one. */
  logBytes: number;
  /** Undefined: the disk of the database is another machine's. */
  freeBytes: number | undefined;
  sizes: OperationResult<'databaseSizes'>['sizes'];
};

const DAY_MS = 86_400_000;
const MOST_DAYS = 7;

export function diskStatus({ now, databaseBytes, logBytes, freeBytes, sizes }: Measured): Status['disk'] {
  const growth = growthBytesPerDay(now, databaseBytes, sizes);
  const days_left = growth !== undefined && growth > 0 && freeBytes !== undefined ? freeBytes / growth : undefined;
  return {
    bytes: databaseBytes + logBytes,
    ...(growth === undefined ? {} : { growth_bytes_per_day: Math.round(growth) }),
    ...(freeBytes === undefined ? {} : { free_bytes: freeBytes }),
    ...(days_left === undefined ? {} : { days_left: Math.round(days_left * 10) / 10 }),
    by_day: sizes.map(({ day, bytes }) => ({ day, bytes })),
  };
}

/** Since the oldest measurement of the last days; less than a day would say more of the hour than of the days to come. */
function growthBytesPerDay(now: number, bytes: number, sizes: Measured['sizes']): number | undefined {
  const ages = sizes.map((size) => ({ bytes: size.bytes, days: (now - Date.parse(size.measured_at)) / DAY_MS }));
  const first = ages.findLast(({ days }) => days >= 1 && days <= MOST_DAYS);
  return first && (bytes - first.bytes) / first.days;
}
