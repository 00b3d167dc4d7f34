/** How fast is a folder of transcripts accepted and derived, what does it weigh on disk, and what memory does that take? */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Status } from '../../core/model/status.ts';
import { buildService } from '../support/built-service.ts';
import { emptyServerDatabase } from '../support/databases.ts';
import { watchMemory } from '../support/process-memory.ts';
import { emptyFolder, eventually, read, removeFolder, startService } from '../support/serve.ts';
import { recordsOf, sessionNamed } from './claude-records.ts';
import { databaseBytes } from './database-bytes.ts';
import { heading, row } from './figures.ts';

const FILES = 300;
const CALLS = 72; // of a file
const RESULT_BYTES = 1_300; // of a tool; a file then has some 276 KB, the average of the folder that the bars were set for
const AT_ONCE = 4;
const SETTLE_MS = 60_000;
const LOOK_MS = 500;
const FEW = 20; // sessions that are left: from here on the status is looked at
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
      await sleep(LOOK_MS);
      if ((await queueGauge(service.api)) > FEW) return false;
      return (await read<Status>(`${service.api}/v1/admin/status`)).derive.queued === 0;
    };
    await eventually('the derivation of all transcripts', caughtUp, 1_200_000);
    const derived = (performance.now() - began) / 1_000;
    const after = await databaseBytes(folder, own?.dsn);
    await sleep(SETTLE_MS);
    const rate = (seconds: number) => `${(sent / MB / seconds).toFixed(1)} MB/s`;
    row(`${kind}: ${(sent / MB).toFixed(0)} MB accepted`, rate(accepted), `>= ${BARS.accepted} MB/s`);
    row(
      '  accepted and derived',
      rate(derived),
      `${((FILES * CALLS) / derived).toFixed(0)} calls/s`,
      `>= ${BARS.derived} MB/s`,
    );
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

/** Costs nothing, unlike a status, which counts all rows; but the service updates it once a second. */
async function queueGauge(api: string): Promise<number> {
  const text = await (await fetch(`${api}/metrics`)).text();
  return Number(/^svc_derive_queue (\d+)$/m.exec(text)?.[1] ?? Number.NaN);
}

function upload(n: number): string {
  const harness_session_id = sessionNamed(n);
  const records = [...recordsOf({ session: n, calls: CALLS, resultBytes: RESULT_BYTES })];
  return JSON.stringify({ session: { harness_id: 'claude', harness_session_id }, records });
}
