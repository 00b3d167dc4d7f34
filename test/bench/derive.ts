/** What does it cost to derive one more turn of a long session, and how soon after its last byte is a turn readable? */
import { setTimeout as sleep } from 'node:timers/promises';
import { completeTurn } from '../../core/call/complete-turn.ts';
import { sessionId } from '../../core/call/identity.ts';
import { callMemory } from '../../core/call/memory.ts';
import { builtIn } from '../../core/call/reader.ts';
import type { JournalCall } from '../../core/capture/journal-format.ts';
import type { Database } from '../../core/db/database.ts';
import { deriveSession } from '../../core/engine/derive/derive-session.ts';
import { findPreviousCall } from '../../core/engine/intake/find-previous-call.ts';
import { openNewSlices } from '../../core/engine/intake/new-slices.ts';
import { openCall } from '../../core/engine/intake/open-call.ts';
import { capturedCall } from '../support/captured-calls.ts';
import { embeddedDatabase, emptyServerDatabase, serverDatabase } from '../support/databases.ts';
import { emptyFolder, removeFolder, startService } from '../support/serve.ts';
import { startUpstream } from '../support/upstream.ts';
import { type AgentCall, agent } from './agent-calls.ts';
import { benchBacklog } from './derive-backlog.ts';
import { benchFlood } from './derive-flood.ts';
import { heading, ms, percentiles, row } from './figures.ts';

const EARLY = 100;
const LATE = 2_000;
const AROUND = 25; // calls on each side that are measured
const TOGETHER = 25; // of those that are not

const RATE = 5; // turns a second, over as many sessions
const SECONDS = 20;
const LOOK_MS = 50; // each look takes its part of the machine

export async function benchDerive(groups: readonly string[]): Promise<void> {
  if (groups.length === 0 || groups.includes('backlog')) await benchBacklog();
  if (groups.length === 0 || groups.includes('turns')) await benchTurns();
  if (groups.length === 0 || groups.includes('flood')) await benchFlood();
}

async function benchTurns(): Promise<void> {
  const dsn = process.env.SVC_TEST_DSN;
  const kinds = ['embedded', 'server'] as const;
  heading(`Deriving one more call of an agent's session, median of ${2 * AROUND}`);
  row('', `around ${EARLY}`, `around ${LATE}`, 'ratio');
  for (const kind of kinds) {
    if (kind === 'server' && !dsn) row('server', 'SVC_TEST_DSN is not set');
    else await benchOneMore(kind, dsn ?? '');
  }
  heading(
    `Turns of 140 KB and more at ${RATE}/s: from the last byte to the turn in the read API, looked at each ${LOOK_MS} ms`,
  );
  row('', 'turns', 'p50', 'p99');
  for (const kind of kinds) {
    if (kind === 'server' && !dsn) row('server', 'SVC_TEST_DSN is not set');
    else await benchReadable(kind, dsn ?? '');
  }
}

async function benchOneMore(kind: 'embedded' | 'server', dsn: string): Promise<void> {
  const options = { statementTimeoutMs: 600_000 };
  const database = kind === 'server' ? await serverDatabase(dsn, options) : await embeddedDatabase(options);
  try {
    const long = session(database, 'long');
    const short = session(database, 'short');
    for (let n = 0; n < LATE - AROUND; n += TOGETHER) await long(TOGETHER);
    for (let n = 0; n < EARLY - AROUND; n += TOGETHER) await short(TOGETHER);
    const [early, late]: [number[], number[]] = [[], []];
    for (let n = 0; n < 2 * AROUND; n++) {
      early.push(await short(1)); // in turns, so that what else the machine does weighs on both
      late.push(await long(1));
    }
    const [before, after] = [percentiles(early).p50, percentiles(late).p50];
    row(kind, ms(before), ms(after), (after / before).toFixed(2));
  } finally {
    await database.close();
  }
}

/** Stores so many calls more, and tells how long deriving them took. */
function session(database: Database, name: string): (calls: number) => Promise<number> {
  const store = storing(database);
  const next = agent(name);
  let n = 0;
  return async (calls) => {
    await store(Array.from({ length: calls }, () => wireCall(next(), name === 'long' ? n++ : 5_000 + n++)));
    return derived(database);
  };
}

/** One pass over the session that is due, in milliseconds. */
async function derived(database: Database): Promise<number> {
  const [lease] = await database.execute('leaseDirty', { limit: 1, background: true, lease_ms: 60_000 });
  if (!lease) throw new Error('Nothing is due');
  const began = performance.now();
  await deriveSession({ database, reader: builtIn, signal: new AbortController().signal }, lease);
  return performance.now() - began;
}

/** As intake does it, without a journal: a slice that is known is not sent again. */
function storing(database: Database): (calls: readonly JournalCall[]) => Promise<void> {
  const memory = callMemory();
  const newSlices = openNewSlices(database);
  return async (calls) => {
    for (const call of calls) {
      const opened = openCall(call, memory, new Uint8Array(32));
      const named = { ...opened.continuation, client_key: call.opened.client_key, identity: opened.identity };
      const prepared = completeTurn(opened, await findPreviousCall(database.execute, named, []), memory);
      if (prepared.kind !== 'turn') throw new Error('Cannot store a call: it is no turn');
      const { turn, slices } = prepared;
      await newSlices.storing(slices, (fresh) =>
        database.execute('appendTurns', { turns: [turn], ...fresh, counted: [], positions: [] }),
      );
    }
  };
}

const wireCall = ({ session, request, response }: AgentCall, n: number): JournalCall =>
  capturedCall({
    ...{ n, request, response, format: 'anthropic.messages' },
    headers: [['x-claude-code-session-id', session]],
  });

/** Through the proxy of a running service, whose sessions each make a call a second. */
async function benchReadable(kind: 'embedded' | 'server', cluster: string): Promise<void> {
  const own = kind === 'server' ? await emptyServerDatabase(cluster) : null;
  const folder = await emptyFolder();
  const answers = new Map<string, string>();
  const upstream = await startUpstream(({ headers }) => ({
    rawHeaders: ['content-type', 'application/json'],
    body: answers.get(String(headers['x-claude-code-session-id'])) ?? '',
  }));
  const service = await startService(folder, {
    SVC_PROXY_UPSTREAMS_ANTHROPIC: upstream.url,
    SVC_LOG_LEVEL: 'error',
    ...(own && { SVC_STORAGE_POSTGRES_DSN: own.dsn }),
  });
  try {
    const waits: number[] = [];
    const one = async (i: number) => {
      const session = `bench-${i}`;
      const next = agent(session, 140_000);
      await sleep((1_000 / RATE) * i);
      for (let n = 1; n <= SECONDS; n++) {
        const began = performance.now();
        const { request, response } = next();
        answers.set(session, response);
        const headers = { 'content-type': 'application/json', 'x-claude-code-session-id': session };
        const answer = await fetch(`${service.proxy}/anthropic/v1/messages`, {
          method: 'POST',
          headers,
          body: request,
        });
        await answer.arrayBuffer();
        const last = performance.now();
        await readable(`${service.api}/v1/sessions/${sessionId('claude', session)}`, n);
        if (n > 2) waits.push(performance.now() - last); // the first ones start what is slow to start
        await sleep(Math.max(0, 1_000 - (performance.now() - began)));
      }
    };
    await Promise.all(Array.from({ length: RATE }, (_, i) => one(i)));
    const { p50, p99 } = percentiles(waits);
    row(kind, String(waits.length), ms(p50), ms(p99));
  } finally {
    await service.stop();
    await upstream.close();
    await removeFolder(folder);
    await own?.drop();
  }
}

async function readable(url: string, calls: number): Promise<void> {
  for (;;) {
    const answer = await fetch(url);
    if (answer.ok) {
      const { session } = (await answer.json()) as { session: { rollup: { kind_counts: { main?: number } } } };
      if ((session.rollup.kind_counts.main ?? 0) >= calls) return;
    } else await answer.arrayBuffer();
    await sleep(LOOK_MS);
  }
}
