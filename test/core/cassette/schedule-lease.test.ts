/** The lease of background work, as the database has it: whoever comes upon one that is taken tries again when it can have ended. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { keepSchedule } from '../../../core/cassette/schedule.ts';
import { databaseSuite, type TestDatabase } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';

const HOUR_MS = 3_600_000;
const LEASE_MS = 300;
const LONG_MS = 5_000; // a busy machine may renew it late

const leasesOf = ({ execute }: TestDatabase) => ({
  lease: (name: string, token: string, ms: number) => execute('leaseCassette', { name, token, ms }),
  release: (name: string, token: string) => execute('releaseCassette', { name, token }),
});

type Leases = ReturnType<typeof leasesOf>;

function hourly(name: string, databases: Leases, run: () => void, leaseMs = LEASE_MS) {
  return keepSchedule({
    ...{ name, databases, everyMs: HOUR_MS, leaseMs, changed: null, now: Date.now },
    ran: () => {},
    run: async () => run(),
  });
}

databaseSuite('the lease of background work', (test, database) => {
  test('what a killed process had begun is done when its lease has ended, not an interval later', async () => {
    const leases = leasesOf(database());
    await leases.lease('killed', randomUUID(), LEASE_MS);
    let runs = 0;
    const schedule = hourly('killed', leases, () => runs++);
    try {
      await eventually(() => runs === 1);
    } finally {
      await schedule.stop();
    }
  });

  test('so it is when the database is away at the time', async () => {
    const { lease, release } = leasesOf(database());
    let away = true;
    let runs = 0;
    const leases: Leases = {
      lease: async (...args) => (away ? Promise.reject(new Error('away')) : lease(...args)),
      release,
    };
    const schedule = hourly('away', leases, () => runs++);
    try {
      await sleep(LEASE_MS / 2);
      away = false;
      await eventually(() => runs === 1);
    } finally {
      await schedule.stop();
    }
  });

  test('one that works keeps its lease between runs, so that no other works in the same interval', async () => {
    const leases = leasesOf(database());
    const worked: string[] = [];
    const one = hourly('shared', leases, () => worked.push('one'), LONG_MS);
    await eventually(() => worked.length === 1);
    const other = hourly('shared', leases, () => worked.push('other'), LONG_MS);
    try {
      await sleep(1.5 * LONG_MS);
      assert.equal(worked, ['one']);
      await one.stop();
      await eventually(() => worked.length === 2);
      assert.equal(worked, ['one', 'other']);
    } finally {
      await Promise.all([one.stop(), other.stop()]);
    }
  });
});
