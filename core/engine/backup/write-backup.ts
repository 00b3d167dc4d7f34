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
import { BACKUP_FORM, type BackupHead, countedName, rowText, type TableStart } from './format.ts';
import { openRemovalLeases, type RemovalLeases } from './removal-leases.ts';

/** `signal` ends the wait of a backup that nobody reads any more. `waits` overrides the times of this file, for tests. */
type Deps = { execute: Database['execute']; version: string; signal?: AbortSignal; waits?: Partial<typeof WAITS> };

/**
 * The bytes of a backup. It ends only when nothing more is read of the database, which may be closed then.
 * @throws {Refusal} backup-broken, when turns were removed while it was made, or when it cannot begin since some are being removed
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
  const leases = openRemovalLeases(deps.execute);
  try {
    await nothingRemoves(deps, leases);
    if (!deps.signal?.aborted) yield* linesOfRecord(deps);
  } finally {
    await leases.release();
  }
}

const WAITS = {
  /** For a sweep and a collection, which end at their next step: a table that is written afresh and a partition that goes take longer. */
  removalsMs: 150_000,
  /** For another backup: by then it is refused, read to its end or being read, or its process was killed and its lease has ended. */
  backupMs: 215_000,
  againMs: 500,
};

/**
 * Waits until nothing is removed by itself. On a standby nothing is: whoever writes removes there.
 * @throws {Refusal} backup-broken, when a sweep or a collection does not end in time
 */
async function nothingRemoves({ execute, signal, waits }: Deps, leases: RemovalLeases): Promise<void> {
  if (!(await execute('takesWrites', {}))) return;
  const { removalsMs, backupMs, againMs } = { ...WAITS, ...waits };
  const mayTake = { backup: backupMs, retention: removalsMs, gc: removalsMs };
  const began = performance.now();
  for (let missing = await leases.take(); missing !== null && !signal?.aborted; missing = await leases.take()) {
    if (performance.now() - began > mayTake[missing]) {
      if (missing === 'backup') return; // this one is read beside it
      throw new Refusal('backup-broken', BUSY[missing]);
    }
    await sleep(againMs, undefined, { signal }).catch(() => undefined);
  }
}

const BUSY = {
  retention:
    'Cannot begin the backup: a sweep of retention or an older backup is under way and does not end; try again later',
  gc: 'Cannot begin the backup: garbage is being collected, which does not end; try again later',
};

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
    throw new Refusal(
      'backup-broken',
      'Cannot finish the backup: turns or their bytes were removed meanwhile; begin again',
    );
  yield `${JSON.stringify({ end: true, rows, lines: count, sha256: hash.digest('hex') })}\n`;
}
