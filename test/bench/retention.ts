/** How long does retention take to remove a month out of three, what does it write, and what do turns feel that are stored meanwhile? */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openPrecedence } from '../../core/engine/precedence.ts';
import { sweepRetention } from '../../core/engine/retention/sweep.ts';
import { capturedCall, chat, chatAnswer } from '../support/captured-calls.ts';
import { embeddedDatabase, serverDatabase, type TestDatabase } from '../support/databases.ts';
import { deriveAll } from '../support/derive-all.ts';
import { ingestBody, testIngest } from '../support/ingested-turns.ts';
import { heading, ms, percentiles, perSecond, row } from './figures.ts';
import { sizes, smallTurns, takeIn } from './intake.ts';
import { benchPartitions } from './partitions.ts';

const TURNS = 6_000; // in 200 sessions

export async function benchRetention(groups: readonly string[]): Promise<void> {
  if (groups.length === 0 || groups.includes('rows')) await benchRows();
  if (groups.length === 0 || groups.includes('partitions')) await benchPartitions();
}

async function benchRows(): Promise<void> {
  heading(`Retention: a month out of three, of ${TURNS} turns in 200 sessions, while turns come in`);
  row('', 'turns gone', 'turns/s', 'log', 'a turn: p50', 'p99', 'most');
  for (const kind of ['embedded', 'server'] as const) {
    const dsn = process.env.SVC_TEST_DSN;
    if (kind === 'server' && !dsn) {
      row('server', 'SVC_TEST_DSN is not set');
      continue;
    }
    const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'));
    const database = await (kind === 'server' ? serverDatabase(dsn ?? '') : embeddedDatabase({ folder }));
    try {
      await takeIn(folder, database, smallTurns(TURNS));
      await deriveAll(database);
      await database.sql(`
        update svc.sessions s set last_seen_at = now() - interval '90 days' * n.number / 200
          from (select session_id, row_number() over (order by session_id) as number from svc.sessions) n
         where n.session_id = s.session_id`);
      const without = await storing(database, () => sleep(3_000));
      row(`${kind}, before`, '', '', '', ...shown(without.samples));
      await measure(kind, database);
    } finally {
      await database.close();
      await rm(folder, { recursive: true, force: true });
    }
  }
}

async function measure(kind: string, database: TestDatabase): Promise<void> {
  const before = await sizes(database);
  const began = performance.now();
  const { result: swept, samples } = await storing(database, () =>
    sweepRetention({
      database,
      rules: { days: 60, maxBytes: null, projects: new Map(), dryRun: false },
      now: Date.now(),
      signal: new AbortController().signal,
      committing: openPrecedence(database).committing,
      pause: (workedMs) => sleep(Math.min(workedMs, 1_000)), // as run-retention.ts
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  const turns = swept?.raw_turns ?? 0;
  const logged = (await sizes(database)).logged - before.logged;
  const log = `${(logged / Math.max(1, turns) / 1024).toFixed(1)} KB/turn`;
  row(`${kind}, while it is removed`, String(turns), perSecond(turns / seconds), log, ...shown(samples));
}

const shown = (samples: readonly number[]) => {
  const { p50, p99 } = percentiles(samples);
  return [ms(p50), ms(p99), ms(Math.max(...samples))];
};

/** Stores a turn every 20 ms while the work lasts. */
async function storing<T>(database: TestDatabase, work: () => Promise<T>): Promise<{ result: T; samples: number[] }> {
  const writer = await testIngest(database);
  const samples: number[] = [];
  let done = false;
  const writing = (async () => {
    while (!done) {
      const began = performance.now();
      const call = capturedCall({
        n: ++calls,
        request: chat(`a question ${calls}`),
        response: chatAnswer('an answer'),
      });
      await writer.append(ingestBody(call), null);
      samples.push(performance.now() - began);
      await sleep(20);
    }
  })();
  const result = await work();
  done = true;
  await writing;
  return { result, samples };
}

let calls = 0;
