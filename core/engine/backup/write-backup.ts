/** Writes a backup: reads the tables page by page, so that the service goes on, and compresses what it reads. */
import { createHash } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import type { BackupColumn } from '../../db/backup/columns.ts';
import { KEPT_TABLES } from '../../db/backup/kept-tables.ts';
import type { BackupPage } from '../../db/backup/read-rows.ts';
import type { Database } from '../../db/database.ts';
import { Refusal } from '../../errors.ts';
import { openWorkLease, type WorkLease } from '../exclusively.ts';
import { BACKUP_FORM, type BackupHead, countedName, rowText, type TableStart } from './format.ts';

type Deps = { execute: Database['execute']; version: string };

/**
 * The bytes of a backup. It ends only when nothing more is read of the database, which may be closed then.
 * @throws {Refusal} backup-broken, when turns were purged while it was made
 */
export async function* writeBackup(deps: Deps): AsyncGenerator<Uint8Array, void> {
  const source = Readable.from(lines(deps));
  const closed = new Promise<void>((resolve) => source.once('close', () => resolve()));
  const compressed = createGzip({ level: 1 }); // most of it is compressed already
  pipeline(source, compressed, () => {}); // an error of the lines comes out of the loop below
  try {
    for await (const chunk of compressed) yield chunk as Uint8Array;
  } finally {
    source.destroy();
    await closed;
  }
}

/** Nothing is removed by itself while the lines are read: what retention or a collection deletes would break the backup. */
async function* lines(deps: Deps): AsyncGenerator<string, void> {
  const leases = await leasesOfRemovals(deps.execute);
  try {
    yield* linesOfRecord(deps);
  } finally {
    await Promise.allSettled(leases.map((lease) => lease.release())); // one that is not released ends by itself
  }
}

/** For both together. The first sweep of a large record goes on for hours: then the backup is begun beside it. */
const MOST_WAIT_MS = 10_000;
const AGAIN_MS = 500;

/** On a standby there are none: whoever writes removes there. */
async function leasesOfRemovals(execute: Database['execute']): Promise<WorkLease[]> {
  if (!(await execute('takesWrites', {}))) return [];
  const until = performance.now() + MOST_WAIT_MS;
  const leases: WorkLease[] = [];
  for (const work of ['retention', 'gc'] as const) {
    let lease = await openWorkLease(execute, work);
    while (lease === null && performance.now() < until) {
      await sleep(AGAIN_MS);
      lease = await openWorkLease(execute, work);
    }
    if (lease !== null) leases.push(lease);
  }
  return leases;
}

async function* linesOfRecord({ execute, version }: Deps): AsyncGenerator<string, void> {
  const hash = createHash('sha256');
  const rows: Record<string, number> = {};
  let count = 0;
  const line = (text: string): string => {
    count += 1;
    hash.update(text).update('\n');
    return `${text}\n`;
  };
  const opened = await execute('openBackup', {});
  const { marks, made_at, kind, migrations, installation, sequences } = opened;
  const head: BackupHead = {
    ...{ svc_backup: BACKUP_FORM, version, made_at, kind, migrations, installation, sequences },
    purges: marks.purges,
  };
  yield line(JSON.stringify(head));

  async function* tableLines(
    table: TableStart,
    read: (columns: BackupColumn[], after: string[] | null) => Promise<BackupPage>,
  ): AsyncGenerator<string, void> {
    yield line(JSON.stringify(table));
    const name = countedName(table);
    rows[name] = 0;
    for (let after: string[] | null = null, more = true; more; ) {
      const page: BackupPage = await read(table.columns, after);
      rows[name] += page.rows.length;
      if (page.rows.length > 0) yield page.rows.map((row) => line(rowText(row))).join('');
      after = page.next;
      more = page.next !== null;
    }
  }

  for (const { table, columns, rows: all } of opened.marked)
    yield* tableLines({ table, cassette: null, columns }, async () => ({ rows: all, next: null }));
  for (const { name: table } of KEPT_TABLES) {
    const start: TableStart = { table, cassette: null, columns: opened.columns[table] ?? [] };
    yield* tableLines(start, (columns, after) => execute('backupRows', { table, columns, marks, after }));
  }
  for (const schema of await execute('cassetteSchemas', {})) {
    yield line(JSON.stringify({ cassette: schema }));
    for (const { table, columns, key } of schema.tables) {
      const start: TableStart = { table, cassette: schema.cassette, columns };
      yield* tableLines(start, (each, after) =>
        execute('cassetteRows', { schema: schema.schema, table, columns: each, key, after }),
      );
    }
  }
  if (!(await execute('isBackupWhole', { marks })))
    throw new Refusal('backup-broken', 'Cannot finish the backup: turns were purged or moved meanwhile; begin again');
  yield `${JSON.stringify({ end: true, rows, lines: count, sha256: hash.digest('hex') })}\n`;
}
