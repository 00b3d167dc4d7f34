/** A flood of short conversations through the proxy of a running service, with readers beside it. */
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { sessionId } from '../../core/call/identity.ts';
import type { Status } from '../../core/model/status.ts';
import { emptyServerDatabase } from './databases.ts';
import { folderWithDatabase } from './folder-with-database.ts';
import { watchMemory } from './process-memory.ts';
import { emptyFolder, eventually, read, removeFolder, startService } from './serve.ts';
import { startUpstream } from './upstream.ts';

const AT_ONCE = 16;
const READ = ['/v1/coverage', '/v1/sessions?limit=20', '/v1/stats'];
const READ_EVERY_MS = 100;

export type Flood = {
  intakeMs: number; // from the first call until all are stored
  derivedMs: number; // from the first call until none is behind
  freshMs: number; // from the end of a call made when all are stored until it can be read
  slowestReadMs: number;
  reads: number;
  memory: FloodMemory;
};

/** Of all processes of the service, in MiB: before the first call, the most while it lasted, and at the end. */
export type FloodMemory = { idle: number; peak: number; settled: number };

/** Time bounds are four times the bars. */
export async function keepsUp(kind: 'embedded' | 'server', conversations: number): Promise<void> {
  const { intakeMs, derivedMs, freshMs, slowestReadMs, reads } = await flood(kind, conversations);
  assert.ok(derivedMs <= 4 * 2 * intakeMs, `derived after ${derivedMs} ms, stored after ${intakeMs}`);
  assert.ok(freshMs <= 4 * 10_000, `readable after ${freshMs} ms`);
  assert.ok(slowestReadMs <= 4 * 1_000, `a read took ${slowestReadMs} ms`);
  assert.ok(reads >= 6);
}

/**
 * @param settleMs how long the service is left alone before its memory is read at the end @param program as of `startService`
 * @throws {AssertionError} a reader got something else than 200, or a call was lost
 */
export async function flood(
  kind: 'embedded' | 'server',
  conversations: number,
  { settleMs = 0, program }: { settleMs?: number; program?: readonly string[] } = {},
): Promise<Flood> {
  const own = kind === 'server' ? await emptyServerDatabase(process.env.SVC_TEST_DSN ?? '') : null;
  const folder = await (own ? emptyFolder() : folderWithDatabase());
  const body = JSON.stringify({
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', stop_reason: 'end_turn' },
    ...{ content: [{ type: 'text', text: 'Yes.' }], usage: { input_tokens: 9, output_tokens: 2 } },
  });
  const upstream = await startUpstream(() => ({ rawHeaders: ['content-type', 'application/json'], body }));
  const env = { SVC_PROXY_UPSTREAMS_ANTHROPIC: upstream.url, SVC_LOG_LEVEL: 'error' };
  const service = await startService(folder, { ...env, ...(own && { SVC_STORAGE_POSTGRES_DSN: own.dsn }) }, program);
  const memory = watchMemory(service.pid);
  const { api, proxy } = service;
  const call = async (session: string) => {
    const answer = await fetch(`${proxy}/anthropic/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-claude-code-session-id': session },
      body: JSON.stringify({
        model: 'claude-sonnet-4-5',
        max_tokens: 9,
        messages: [{ role: 'user', content: session }],
      }),
    });
    assert.is(answer.status, 200);
    await answer.arrayBuffer();
  };
  const stored = async () => (await read<{ requests: number }>(`${api}/v1/coverage`)).requests;
  const reading = startReading(api);
  try {
    const began = performance.now();
    let sent = 0;
    const sender = async () => {
      while (sent < conversations) await call(`flood-${sent++}`);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, sender));
    await eventually('all to be stored', async () => (await stored()) >= conversations, 120_000);
    const intakeMs = performance.now() - began;

    await call('fresh');
    const fresh = performance.now();
    const url = `${api}/v1/sessions/${sessionId('claude', 'fresh')}`;
    const hasTrace = async () => {
      const answer = await fetch(url);
      const { session } = (await answer.json()) as { session?: { rollup?: { turn_count: number } } };
      return (session?.rollup?.turn_count ?? 0) > 0;
    };
    await eventually('the fresh one to be readable', hasTrace, 120_000);
    const freshMs = performance.now() - fresh;

    const behind = async () => (await read<Status>(`${api}/v1/admin/status`)).derive;
    await eventually('none to be behind', async () => (await behind()).queued === 0, 120_000);
    const derivedMs = performance.now() - began;
    assert.is(await stored(), conversations + 1);
    assert.is((await behind()).parked, 0);
    const reads = await reading.stop();
    await sleep(settleMs);
    const { idle, peak, now } = memory;
    return { intakeMs, derivedMs, freshMs, ...reads, memory: { idle, peak: peak(), settled: now() } };
  } finally {
    memory.stop();
    await reading.stop();
    await service.stop();
    await upstream.close();
    await removeFolder(folder);
    await own?.drop();
  }
}

/** Reads three routes again and again until it is stopped. */
function startReading(api: string) {
  const stopping = new AbortController();
  const figures = { slowestReadMs: 0, reads: 0 };
  const reader = async (path: string) => {
    while (!stopping.signal.aborted) {
      const began = performance.now();
      const answer = await fetch(`${api}${path}`);
      assert.is(answer.status, 200, `${path}: ${await answer.text()}`);
      figures.slowestReadMs = Math.max(figures.slowestReadMs, performance.now() - began);
      figures.reads++;
      await sleep(READ_EVERY_MS);
    }
  };
  const readers = Promise.all(READ.map(reader));
  readers.catch(() => {}); // thrown by stop
  return {
    async stop() {
      stopping.abort();
      await readers;
      return figures;
    },
  };
}
