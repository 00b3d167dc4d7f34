/** A flood of new conversations through the proxy: when is all of it readable, how long do readers wait, and what memory does it take? */
import { join } from 'node:path';
import { buildService } from '../support/built-service.ts';
import { flood } from '../support/flood.ts';
import { emptyFolder, removeFolder } from '../support/serve.ts';
import { bounded, heading, row } from './figures.ts';

const CONVERSATIONS = 20_000;
const SETTLE_MS = 300_000;
/** The service of an embedded database holds it in its memory. `settled`: beyond what it held before. */
const MIB = { embedded: { peak: 600, settled: 100 }, server: { peak: 400, settled: 100 } };
const MS = { fresh: 10_000, read: 1_000 };

export async function benchFlood(): Promise<void> {
  const built = await emptyFolder();
  try {
    const program = await buildService(join(built, 'package'));
    heading(`A flood of ${CONVERSATIONS} conversations of one call`);
    for (const kind of ['embedded', 'server'] as const) {
      if (kind === 'server' && !process.env.SVC_TEST_DSN) row('server', 'SVC_TEST_DSN is not set');
      else await benchOn(kind, program);
    }
  } finally {
    await removeFolder(built);
  }
}

async function benchOn(kind: 'embedded' | 'server', program: string): Promise<void> {
  const result = await flood(kind, CONVERSATIONS, { settleMs: SETTLE_MS, program: [program] });
  const { intakeMs, derivedMs, freshMs, slowestReadMs, memory } = result;
  row(`${kind}: all stored`, `${(intakeMs / 1_000).toFixed(1)} s`);
  bounded('  derived, as times of that', derivedMs / intakeMs, 2, (times) => times.toFixed(2));
  bounded('  a new conversation is readable after', freshMs, MS.fresh);
  bounded('  slowest read meanwhile', slowestReadMs, MS.read);
  row('  memory of all processes before', `${memory.idle} MiB`);
  bounded('  at most', memory.peak, MIB[kind].peak, mib);
  bounded(
    `  more than before, ${SETTLE_MS / 60_000} minutes later`,
    memory.settled - memory.idle,
    MIB[kind].settled,
    mib,
  );
}

const mib = (value: number) => `${Math.round(value)} MiB`;
