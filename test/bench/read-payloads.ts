/** How soon do the payloads of a long session begin to come, how long do they take, and what memory does that need? */
import type { Status } from '../../core/model/status.ts';
import { emptyServerDatabase } from '../support/databases.ts';
import { folderWithDatabase } from '../support/folder-with-database.ts';
import { memoryOf } from '../support/process-memory.ts';
import { emptyFolder, eventually, read, removeFolder, type Service, startService } from '../support/serve.ts';
import { startUpstream } from '../support/upstream.ts';
import { agent } from './agent-calls.ts';
import { heading, median, ms, row } from './figures.ts';

const CALLS = 2_000;
const READS = 15; // with five, two pauses of the machine moved the median
const FIRST_BYTE_MS = 50;
const SAMPLE_MS = 20;

const MIB = 1_048_576;

export async function benchPayloads(): Promise<void> {
  const dsn = process.env.SVC_TEST_DSN;
  heading(`Payloads of a session of ${CALLS} calls, median of ${READS} reads`);
  row('', 'first byte', 'bar', 'whole', 'bytes', 'memory added');
  for (const kind of ['embedded', 'server'] as const) {
    if (kind === 'server' && !dsn) row('server', 'SVC_TEST_DSN is not set');
    else await benchOn(kind, dsn ?? '');
  }
}

async function benchOn(kind: 'embedded' | 'server', cluster: string): Promise<void> {
  const own = kind === 'server' ? await emptyServerDatabase(cluster) : null;
  const folder = await (own ? emptyFolder() : folderWithDatabase());
  let answer = '';
  const upstream = await startUpstream(() => ({ rawHeaders: ['content-type', 'application/json'], body: answer }));
  const service = await startService(folder, {
    ...{ SVC_PROXY_UPSTREAMS_ANTHROPIC: upstream.url, SVC_LOG_LEVEL: 'error' },
    ...(own && { SVC_STORAGE_POSTGRES_DSN: own.dsn }),
  });
  try {
    const next = agent('payloads');
    const derive = async () => (await read<Status>(`${service.api}/v1/admin/status`)).derive;
    const captured = async () =>
      (await read<{ outcomes: { captured: number } }>(`${service.api}/v1/coverage`)).outcomes.captured;
    for (let n = 1; n <= CALLS; n++) {
      const { request, response, session } = next();
      answer = response;
      await (await fetch(`${service.proxy}/anthropic/v1/messages`, { ...POST(session), body: request })).arrayBuffer();
      if (n % 50 === 0) await eventually('all to be stored', async () => (await captured()) >= n, 60_000); // the journal has no room for them all
    }
    await eventually('all to be derived', async () => (await derive()).queued === 0, 300_000);
    const { items } = await read<{ items: { id: string }[] }>(`${service.api}/v1/sessions`);
    const session = `${service.api}/v1/sessions/${items[0]?.id}`;
    for (const [name, url] of [
      ['traces?payload=full', `${session}/traces?payload=full`],
      ['raw_turns?include=payload, the first 50', `${session}/raw_turns?include=payload&limit=50`],
      ['the last 50', await lastPage(session)],
    ] as const)
      await benchRead(service, `${kind}: ${name}`, url);
  } finally {
    await service.stop();
    await upstream.close();
    await removeFolder(folder);
    await own?.drop();
  }
}

const POST = (session: string) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', 'x-claude-code-session-id': session },
});

/** The page of which each request holds the whole session. */
async function lastPage(session: string): Promise<string> {
  const list = `${session}/raw_turns`;
  for (let cursor = ''; ; ) {
    const page = await read<{ next_cursor?: string }>(`${list}?limit=${PAGE}${cursor}`);
    if (!page.next_cursor) return `${list}?include=payload&limit=${PAGE}${cursor}`;
    cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
  }
}
const PAGE = 50;

async function benchRead(service: Service, name: string, url: string): Promise<void> {
  const memory = () => memoryOf(service.pid).reduce((sum, { mib }) => sum + mib, 0);
  const before = memory();
  let peak = before;
  const sampling = setInterval(() => {
    peak = Math.max(peak, memory());
  }, SAMPLE_MS);
  const [first, whole]: [number[], number[]] = [[], []];
  let bytes = 0;
  for (let n = 0; n < READS; n++) {
    const began = performance.now();
    const answer = await fetch(url);
    if (!answer.ok || !answer.body) throw new Error(`Cannot read ${url}: ${answer.status}`);
    bytes = 0;
    for await (const chunk of answer.body) {
      if (bytes === 0) first.push(performance.now() - began);
      bytes += chunk.byteLength;
    }
    whole.push(performance.now() - began);
  }
  clearInterval(sampling);
  row(
    name,
    ms(median(first)),
    `<= ${FIRST_BYTE_MS} ms`,
    ms(median(whole)),
    `${(bytes / MIB).toFixed(1)} MiB`,
    `${peak - before} MiB`,
  );
}
