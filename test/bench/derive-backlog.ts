/** How many sessions of one short call each are derived in a second, once a flood of them is stored. */
import { builtIn } from '../../core/call/reader.ts';
import { runDeriveWorker } from '../../core/engine/derive/derive-worker.ts';
import { openLog } from '../../core/log.ts';
import { answer, user } from '../support/call-turn.ts';
import { embeddedDatabase, serverDatabase } from '../support/databases.ts';
import { journalCall, storeCalls } from '../support/stored-calls.ts';
import { heading, row } from './figures.ts';

const SESSIONS = 4_000;
const STORED_TOGETHER = 200;
const BARS = { embedded: 800, server: 1_500 }; // sessions a second

export async function benchBacklog(): Promise<void> {
  const dsn = process.env.SVC_TEST_DSN;
  heading(`A backlog of ${SESSIONS} sessions of one call, derived`);
  row('', 'sessions/s', 'bar');
  for (const kind of ['embedded', 'server'] as const) {
    if (kind === 'server' && !dsn) row('server', 'SVC_TEST_DSN is not set');
    else row(kind, (await sessionsPerSecond(kind, dsn ?? '')).toFixed(0), `>= ${BARS[kind]}`);
  }
}

async function sessionsPerSecond(kind: 'embedded' | 'server', dsn: string): Promise<number> {
  const database = await (kind === 'server' ? serverDatabase(dsn) : embeddedDatabase());
  const stopping = new AbortController();
  try {
    for (let n = 0; n < SESSIONS; n += STORED_TOGETHER)
      await storeCalls(
        database,
        Array.from({ length: STORED_TOGETHER }, (_, i) => conversation(n + i)),
      );
    const began = performance.now();
    const worker = runDeriveWorker({
      ...{ database, reader: builtIn, log: openLog('error'), signal: stopping.signal },
      metrics: { derived: () => {}, derivePending: () => {} },
    });
    await worker.drained();
    const seconds = (performance.now() - began) / 1_000;
    stopping.abort();
    await worker.stopped;
    const [left] = await database.sql('select count(*)::integer as sessions from svc.session_rollups');
    if (left?.sessions !== SESSIONS) throw new Error(`Derived ${left?.sessions} sessions of ${SESSIONS}`);
    return SESSIONS / seconds;
  } finally {
    stopping.abort();
    await database.close();
  }
}

const conversation = (n: number) =>
  journalCall(`flood-${n}`, {
    ...{ at: n / 1_000, call_id: `flood-${n}`, says: [user(`Question ${n} of many`)] },
    answers: answer(`The answer to question ${n}`),
  });
