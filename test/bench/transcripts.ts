/** How fast is a folder of transcripts accepted and derived, what does it weigh on disk, and what memory does that take? */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Status } from '../../core/model/status.ts';
import { buildService } from '../support/built-service.ts';
import { emptyServerDatabase } from '../support/databases.ts';
import { watchMemory } from '../support/process-memory.ts';
import { emptyFolder, eventually, read, removeFolder, startService } from '../support/serve.ts';
import { databaseBytes } from './database-bytes.ts';
import { heading, row } from './figures.ts';
import { prose } from './prose.ts';

const FILES = 300;
const CALLS = 72; // of a file
const AT_ONCE = 4;
const SETTLE_MS = 60_000;
const LOOK_MS = 500;
const MB = 1e6;
const BARS = { accepted: 20, derived: 5, stored: 1.2, log: 128, peak: 600 }; // MB/s, MB/s, of what was sent, MiB, MiB

export async function benchTranscripts(): Promise<void> {
  const dsn = process.env.SVC_TEST_DSN;
  const built = await emptyFolder();
  try {
    const program = await buildService(join(built, 'package'));
    heading(`${FILES} transcripts of ${CALLS} calls each, ${AT_ONCE} at a time`);
    for (const kind of ['embedded', 'server'] as const) {
      if (kind === 'server' && !dsn) row('server', 'SVC_TEST_DSN is not set');
      else await sweep(kind, program, dsn ?? '');
    }
  } finally {
    await removeFolder(built);
  }
}

async function sweep(kind: 'embedded' | 'server', program: string, dsn: string): Promise<void> {
  const own = kind === 'server' ? await emptyServerDatabase(dsn) : null;
  const folder = await emptyFolder();
  const service = await startService(
    folder,
    { SVC_LOG_LEVEL: 'error', ...(own && { SVC_STORAGE_POSTGRES_DSN: own.dsn }) },
    [program],
  );
  const memory = watchMemory(service.pid);
  try {
    const before = await databaseBytes(folder, own?.dsn);
    let sent = 0;
    let next = 0;
    const began = performance.now();
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let n = next++; n < FILES; n = next++) {
          const body = upload(n);
          sent += Buffer.byteLength(body);
          const response = await fetch(`${service.ingest}/v1/ingest/transcript`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body,
          });
          if (response.status !== 202) throw new Error(`Refused: ${response.status} ${await response.text()}`);
        }
      }),
    );
    const accepted = (performance.now() - began) / 1_000;
    const caughtUp = async () => {
      await sleep(LOOK_MS); // each look counts all rows
      return (await read<Status>(`${service.api}/v1/admin/status`)).derive.queued === 0;
    };
    await eventually('the derivation of all transcripts', caughtUp, 1_200_000);
    const derived = (performance.now() - began) / 1_000;
    const after = await databaseBytes(folder, own?.dsn);
    await sleep(SETTLE_MS);
    const rate = (seconds: number) => `${(sent / MB / seconds).toFixed(1)} MB/s`;
    row(`${kind}: ${(sent / MB).toFixed(0)} MB accepted`, rate(accepted), `>= ${BARS.accepted} MB/s`);
    row('  accepted and derived', rate(derived), `>= ${BARS.derived} MB/s`);
    row(
      '  tables and indexes, of what was sent',
      ((after.tables - before.tables) / sent).toFixed(2),
      `<= ${BARS.stored}`,
    );
    if (!own) row('  write-ahead log', `${(after.log / 2 ** 20).toFixed(0)} MiB`, `<= ${BARS.log} MiB`);
    row(
      '  memory of all processes: idle, peak, a minute later',
      ...[memory.idle, memory.peak(), memory.now()].map((mib) => `${mib} MiB`),
      `<= ${BARS.peak}`,
    );
  } finally {
    memory.stop();
    await service.stop();
    await removeFolder(folder);
    await own?.drop();
  }
}

/** A session of Claude Code as it is on disk: a record a line, a prompt now and then, and tools with their results. */
function upload(n: number): string {
  const session = `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
  const records: unknown[] = [];
  let parent: string | null = null;
  let second = n * 3_600;
  const put = (type: string, rest: object) => {
    const uuid = `${session.slice(0, 24)}${String(records.length).padStart(6, '0')}${String(n).padStart(6, '0')}`;
    const timestamp = new Date(Date.UTC(2026, 6, 27) + second++ * 1_000).toISOString();
    const common = {
      isSidechain: false,
      userType: 'external',
      cwd: '/home/ada/atlas',
      version: '2.0.14',
      gitBranch: 'main',
    };
    records.push({ parentUuid: parent, ...common, sessionId: session, type, uuid, timestamp, ...rest });
    parent = uuid;
  };
  for (let call = 0; call < CALLS; call++) {
    const seed = n * 1_000 + call;
    const result = { tool_use_id: `toolu_${n}_${call - 1}`, type: 'tool_result', content: prose(1_200, seed) };
    put('user', { message: { role: 'user', content: call % 9 === 0 ? prose(300, seed) : [result] } });
    const content = [
      { type: 'text', text: prose(300, seed + 7) },
      ...(call % 9 === 8
        ? []
        : [{ type: 'tool_use', id: `toolu_${n}_${call}`, name: 'Read', input: { file_path: `src/${seed}.ts` } }]),
    ];
    const usage = {
      input_tokens: 12,
      output_tokens: 90,
      cache_read_input_tokens: 40_000,
      cache_creation_input_tokens: 900,
    };
    const message = {
      id: `msg_${n}_${call}`,
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5-20250929',
      content,
      usage,
    };
    put('assistant', { requestId: `req_${n}_${call}`, message });
  }
  return JSON.stringify({ session: { harness_id: 'claude', harness_session_id: session }, records });
}
