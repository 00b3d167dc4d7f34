import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Installed } from '../../../core/cassette/installed.ts';
import { keepSchedule } from '../../../core/cassette/schedule.ts';

const test = suite('background work');
type Run = NonNullable<Installed['last_run']>;

/** One holder at a time, as the table of leases has it. */
const leases = () => {
  let holder: string | null = null;
  return {
    lease: async (_name: string, token: string) => {
      holder ??= token;
      return holder === token;
    },
    release: async (_name: string, token: string) => {
      if (holder === token) holder = null;
    },
  };
};
const soon = () => new Promise((resolve) => setTimeout(resolve, 15));

test('one replica works, never twice at once; when it stops the other takes over', async () => {
  const databases = leases();
  const worked: string[] = [];
  let atOnce = 0;
  let most = 0;
  const replica = (name: string) =>
    keepSchedule({
      name: 'notes',
      everyMs: 5,
      databases,
      changed: null,
      now: Date.now,
      ran: () => {},
      run: async () => {
        most = Math.max(most, ++atOnce);
        await soon();
        worked.push(name);
        atOnce -= 1;
      },
    });
  const one = replica('one');
  const other = replica('other');
  while (worked.length < 3) await soon();
  assert.is(most, 1);
  assert.equal(new Set(worked), new Set(['one']));
  await one.stop();
  worked.length = 0;
  while (worked.length < 1) await soon();
  assert.equal(new Set(worked), new Set(['other']));
  await other.stop();
});

test('an interval longer than a timer of Node, 25 days, is waited for without one that overflows', async () => {
  const warnings: string[] = [];
  const note = ({ name }: Error) => void warnings.push(name);
  process.on('warning', note);
  let runs = 0;
  const run = async () => void runs++;
  const everyMs = 30 * 24 * 3_600_000;
  const schedule = keepSchedule({
    name: 'notes',
    everyMs,
    databases: null,
    changed: null,
    now: Date.now,
    ran: () => {},
    run,
  });
  while (runs === 0) await soon();
  await soon();
  await schedule.stop();
  process.off('warning', note);
  assert.equal([runs, warnings], [1, []]);
});

test('a run that throws is told with its reason, and the next one comes all the same', async () => {
  const reports: Run[] = [];
  let runs = 0;
  const schedule = keepSchedule({
    name: 'notes',
    everyMs: 5,
    databases: null,
    changed: null,
    now: Date.now,
    ran: (run) => reports.push(run),
    run: async () => {
      if (++runs === 1) throw new Error('the moon is full');
    },
  });
  while (runs < 2) await soon();
  await schedule.stop();
  assert.is(reports.find(({ error }) => error !== null)?.error, 'the moon is full');
  assert.ok(reports.every(({ scheduled_at }) => /^\d{4}-.*Z$/.test(scheduled_at)));
});

test('what changes makes work due long before its interval is over, also what changed while it ran', async () => {
  let last = 0;
  const saw: number[] = [];
  const schedule = keepSchedule({
    name: 'notes',
    everyMs: 3_600_000,
    databases: null,
    changed: async (seen) => ({ seen: String(last), changed: seen !== String(last) }),
    now: Date.now,
    ran: () => {},
    run: async () => {
      saw.push(last);
      if (saw.length === 1) last = 1; // once it has looked
    },
  });
  while (saw.length < 2) await soon();
  last = 2;
  while (saw.length < 3) await soon();
  await schedule.stop();
  assert.equal(saw, [0, 1, 2]);
});

test('a clock that is set back delays no work', async () => {
  let offsetMs = 0;
  const times: number[] = [];
  const schedule = keepSchedule({
    ...{ name: 'notes', everyMs: 20, databases: null, changed: null, now: () => Date.now() + offsetMs },
    ran: () => {},
    run: async ({ scheduled_at }) => {
      times.push(scheduled_at);
      offsetMs = -3_600_000;
    },
  });
  for (let tries = 0; times.length < 3 && tries < 200; tries++) await soon();
  await schedule.stop();
  assert.ok(times.length >= 3, `${times.length} runs`);
  assert.ok(
    Math.abs(Date.now() - 3_600_000 - (times[2] ?? 0)) < 60_000,
    'and the time that it is given is of that clock',
  );
});

test('to stop is to abort the run under way, and to wait for it', async () => {
  let aborted = false;
  const schedule = keepSchedule({
    name: 'notes',
    everyMs: 1000,
    databases: null,
    changed: null,
    now: Date.now,
    ran: () => {},
    run: ({ signal }) =>
      new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => {
          aborted = true;
          resolve();
        });
      }),
  });
  await soon();
  await schedule.stop();
  assert.ok(aborted);
});

test('a run that fails because it was stopped has not failed', async () => {
  const reports: Run[] = [];
  const schedule = keepSchedule({
    ...{ name: 'notes', everyMs: 60_000, databases: null, changed: null, now: Date.now },
    ran: (run) => reports.push(run),
    run: ({ signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('its process has ended')));
      }),
  });
  while (reports.length === 0) await soon();
  await schedule.stop();
  assert.equal(
    reports.map(({ ended_at, error }) => [ended_at !== null, error]),
    [
      [false, null],
      [true, null],
    ],
  );
});

test.run();
