/** What does one more call of a long transcript cost, which an agent writes every few seconds, beside what all of it did? */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { HarnessSummary } from '../../core/cli/sync/sweep.ts';
import type { Status } from '../../core/model/status.ts';
import { buildService } from '../support/built-service.ts';
import { emptyServerDatabase } from '../support/databases.ts';
import { processorSeconds } from '../support/process-time.ts';
import { emptyFolder, eventually, read, removeFolder, startService } from '../support/serve.ts';
import { recordsOf, sessionNamed } from './claude-records.ts';
import { heading, row } from './figures.ts';

const CALLS = 4_000;
const RESULT_BYTES = 2_000; // of each call's tool, which a record holds twice
const GROWS = 6;
/** Of what it has read the service keeps nothing after the first reading, and something after the second. */
const UNCOUNTED = 1;
const LOOK_MS = 250;
const SETTLE_MS = 15_000; // the index of find follows
const MB = 1e6;
const BARS = { sent: 0.11, processor: 0.1 }; // of what the whole file took; a part is 2 MB of its 20

export async function benchGrowingTranscript(): Promise<void> {
  const dsn = process.env.SVC_TEST_DSN;
  const built = await emptyFolder();
  try {
    const program = await buildService(join(built, 'package'));
    heading(`a transcript of ${CALLS} calls, and one more call`);
    for (const kind of ['embedded', 'server'] as const) {
      if (kind === 'server' && !dsn) row('server', 'SVC_TEST_DSN is not set');
      else await grow(kind, program, dsn ?? '');
    }
  } finally {
    await removeFolder(built);
  }
}

/** Seconds until it was derived, and of the service's processors. */
type Sent = { bytes: number; seconds: number; processor: number };

async function grow(kind: 'embedded' | 'server', program: string, dsn: string): Promise<void> {
  const own = kind === 'server' ? await emptyServerDatabase(dsn) : null;
  const folder = await emptyFolder();
  const env = { SVC_LOG_LEVEL: 'error', ...(own && { SVC_STORAGE_POSTGRES_DSN: own.dsn }) };
  const service = await startService(folder, env, [program]);
  const project = join(folder, '.claude/projects/atlas');
  const listeners = { SVC_API_LISTEN: new URL(service.api).host, SVC_INGEST_LISTEN: new URL(service.ingest).host };
  const options = { cwd: folder, env: { ...process.env, HOME: folder, ...listeners } };

  /** Writes the file and sends it. */
  const sent = async (calls: number): Promise<Sent> => {
    const lines = [...recordsOf({ session: 1, calls, resultBytes: RESULT_BYTES })].map((record) =>
      JSON.stringify(record),
    );
    await writeFile(join(project, `${sessionNamed(1)}.jsonl`), `${lines.join('\n')}\n`);
    const [computed, began] = [processorSeconds(service.pid), performance.now()];
    const { stdout } = await promisify(execFile)(process.execPath, [program, 'sync', '--json'], options);
    const { harnesses } = JSON.parse(stdout) as { harnesses: HarnessSummary[] };
    await eventually('the derivation of the transcript', async () => {
      await sleep(LOOK_MS);
      return (await read<Status>(`${service.api}/v1/admin/status`)).derive.queued === 0;
    });
    const seconds = (performance.now() - began) / 1_000;
    const bytes = harnesses.reduce((sum, { sent_bytes }) => sum + sent_bytes, 0);
    return { bytes, seconds, processor: processorSeconds(service.pid) - computed };
  };
  try {
    await mkdir(project, { recursive: true });
    const whole = await sent(CALLS);
    await sleep(SETTLE_MS);
    for (let n = 1; n <= UNCOUNTED; n++) await sent(CALLS + n);
    const grown: Sent[] = [];
    for (let n = UNCOUNTED + 1; n <= GROWS; n++) grown.push(await sent(CALLS + n));
    const mean = (of: keyof Sent) => grown.reduce((sum, one) => sum + one[of], 0) / grown.length;
    row(`${kind}: sent`, `${(whole.bytes / MB).toFixed(1)} MB`);
    row('  one more call', `${(mean('bytes') / whole.bytes).toFixed(3)} of it`, `<= ${BARS.sent}`);
    row('  processors of the service', `${whole.processor.toFixed(2)} s`);
    row('  one more call', `${(mean('processor') / whole.processor).toFixed(3)} of it`, `<= ${BARS.processor}`);
    row('  readable after; one more call', `${whole.seconds.toFixed(1)} s; ${mean('seconds').toFixed(1)} s`);
  } finally {
    await service.stop();
    await removeFolder(folder);
    await own?.drop();
  }
}
