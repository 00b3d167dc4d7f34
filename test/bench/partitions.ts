/** How long does it take to drop a month of three, for how long does everybody wait, and are the totals exact? */
import { setTimeout as sleep } from 'node:timers/promises';
import { builtIn } from '../../core/call/reader.ts';
import { runDeriveWorker } from '../../core/engine/derive/derive-worker.ts';
import { openPrecedence } from '../../core/engine/precedence.ts';
import { sweepRetention } from '../../core/engine/retention/sweep.ts';
import { openLog } from '../../core/log.ts';
import { StatsQuery } from '../../core/model/stats.ts';
import { answer, instantAt, user } from '../support/call-turn.ts';
import type { TestDatabase } from '../support/databases.ts';
import { changePartition, partitionedDatabase } from '../support/partitioned-database.ts';
import { journalCall, storeCalls } from '../support/stored-calls.ts';
import { heading, ms, perSecond, row } from './figures.ts';

/** Of one call with ten messages each. The bar is meant for 100,000. */
const SESSIONS = Number(process.env.SVC_BENCH_SESSIONS ?? 6_000);
const MESSAGES = 9;
const STORED_TOGETHER = 100;
const DROP_MS = 1_000;
const DAY_MS = 86_400_000;

export async function benchPartitions(): Promise<void> {
  const dsn = process.env.SVC_TEST_DSN;
  heading(`Retention by partition: a month out of three, of ${SESSIONS} sessions with ${MESSAGES + 1} messages each`);
  if (!dsn) {
    row('server', 'SVC_TEST_DSN is not set');
    return;
  }
  row('', 'sessions gone', 'in all', 'sessions/s', 'drop', 'bar', 'longest wait');
  const database = await partitionedDatabase(dsn);
  try {
    const months = [];
    for (const month of [0, 1, 2]) {
      await store(database, month);
      months.push(await totals(database));
      if (month < 2) await changePartition(database);
      await database.sql(
        `update svc.partitions set ended_at = now() - $1 * interval '1 day' where ended_at > now() - interval '1 hour'`,
        [60 - month * 30],
      );
    }
    await measure(database, months);
  } finally {
    await database.close();
  }
}

type Totals = Awaited<ReturnType<typeof totals>>;

async function totals(database: TestDatabase) {
  const { turn_count, input_tokens, output_tokens, session_count } = await database.execute(
    'readStats',
    StatsQuery.parse({}),
  );
  return { turn_count, input_tokens, output_tokens, session_count };
}

async function measure(database: TestDatabase, [first, , all]: Totals[]): Promise<void> {
  let dropMs = 0;
  const execute = (async (name: never, args: never) => {
    const began = performance.now();
    const result = await database.execute(name, args);
    if (name === 'dropPartition') dropMs = Math.max(dropMs, performance.now() - began);
    return result;
  }) as typeof database.execute;
  const began = performance.now();
  let done = false;
  const waits: number[] = [];
  const reading = (async () => {
    while (!done) {
      const sentAt = performance.now();
      await database.execute('knownSlices', { ids: ['00'.repeat(32)] });
      waits.push(performance.now() - sentAt);
      await sleep(5);
    }
  })();
  const swept = await sweepRetention({
    database: { ...database, execute },
    rules: { days: 45, maxBytes: null, projects: new Map(), dryRun: false },
    now: Date.now(),
    signal: new AbortController().signal,
    committing: openPrecedence(database).committing,
    pause: (workedMs) => sleep(Math.min(workedMs, 1_000)), // as run-retention.ts
  });
  done = true;
  await reading;
  const took = performance.now() - began;
  const gone = swept?.sessions ?? 0;
  row(
    'server',
    String(gone),
    ms(took),
    perSecond(gone / (took / 1_000)),
    ms(dropMs),
    `<= ${ms(DROP_MS)}`,
    ms(Math.max(...waits)),
  );
  const left = await totals(database);
  for (const name of Object.keys(left) as (keyof Totals)[])
    if (left[name] !== (all?.[name] ?? 0) - (first?.[name] ?? 0))
      throw new Error(`${name} is not exact: ${left[name]}`);
}

/** Sessions of the month, which is over for a month and a half, two weeks, or goes on. */
async function store(database: TestDatabase, month: number): Promise<void> {
  const own = SESSIONS / 3;
  const from = (Date.now() - (75 - month * 33) * DAY_MS - Date.parse(instantAt(0))) / 1_000;
  for (let n = 0; n < own; n += STORED_TOGETHER)
    await storeCalls(
      database,
      Array.from({ length: Math.min(STORED_TOGETHER, own - n) }, (_, i) =>
        conversation(month * own + n + i, from + n + i),
      ),
    );
  await sleep(1_100); // until the server has counted the rows
  await database.execute('analyzePartitioned', {}); // as run-partitions.ts
  const stopping = new AbortController();
  const worker = runDeriveWorker({
    ...{ database, reader: builtIn, log: openLog('error'), signal: stopping.signal },
    metrics: { derived: () => {}, derivePending: () => {} },
  });
  await worker.drained();
  stopping.abort();
  await worker.stopped;
}

const conversation = (n: number, at: number) =>
  journalCall(`month-${n}`, {
    ...{ at, call_id: `month-${n}` },
    says: Array.from({ length: MESSAGES }, (_, i) => user(`Message ${i} of ${n}: ${'some words '.repeat(20)}`)),
    answers: answer(`The answer to question ${n}`),
  });
