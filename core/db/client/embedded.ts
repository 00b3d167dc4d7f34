/** PGlite as `Sql`: one statement or transaction at a time, each announced on the gauge that the watchdog reads. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { PGlite, type Transaction } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import type { SQL } from 'drizzle-orm';
import { openFairQueue } from '../fair-queue.ts';
import { type Sql, withSavepoints } from '../sql.ts';
import { statementLimitsMs } from '../statement-limits.ts';
import { dataFolder, isMade } from './data-folder.ts';
import { databaseError } from './failure.ts';
import { flushTree } from './flush.ts';
import type { Gauge } from './gauge.ts';
import { type KeptStatements, keptStatements } from './kept-statements.ts';
import { countSegments } from './log-segments.ts';
import { durableFiles } from './power-cut.ts';
import { copyTemplate } from './template.ts';
import { columnReaders, compiled } from './wire-text.ts';

export type Embedded = {
  /** The Sql of one operation; `limitMs` applies to each of its statements or transactions. @param owner whose time it takes */
  sqlFor(operation: string, limitMs: number, owner?: string | null): Sql;
  /** Rejects what owners have waiting. */
  refuseWaiting(error: Error): void;
  listen(channel: string, listener: (payload: string) => void): Promise<() => Promise<void>>;
  /** Waits for pending work, then closes with everything on disk. */
  close(): Promise<void>;
};

/**
 * @param folder holds the database in `data`, created on first use. One process only: the caller holds the folder's lock
 * @param prepare runs at each opening; a new database counts as complete after it, and one whose creation was interrupted is created anew
 * @param template what a new database is copied from; null: it is created
 */
export async function openEmbedded(
  folder: string,
  gauge: Gauge,
  prepare: (sql: Sql) => Promise<void>,
  template: string | null = null,
): Promise<Embedded> {
  const { data, making, copying } = dataFolder(folder);
  let isNew = !isMade(folder);
  if (isNew) {
    for (const interrupted of [data, copying]) rmSync(interrupted, { recursive: true, force: true });
    isNew = template === null || !(await copyTemplate(template, folder));
  }
  if (isNew) writeFileSync(making, '');
  mkdirSync(data, { recursive: true, mode: 0o700 });

  let logSegments = () => 0;
  const { files, stop } = durableFiles(data, (operations) => {
    logSegments = countSegments(operations);
  });
  const pglite = new PGlite({ fs: files, startParams: START, extensions: { vector } });
  await pglite.waitReady;
  for (const oid of Object.keys(pglite.parsers)) pglite.parsers[oid] = (text) => text; // a deleted parser would be replaced by PGlite's own
  Object.assign(pglite.parsers, columnReaders);
  for (const oid of Object.keys(pglite.serializers)) delete pglite.serializers[oid]; // parameters are in text format already

  const kept = keptStatements(pglite);
  const queue = openFairQueue(FREE);
  let bounding = false;
  const boundLog = () => {
    if (bounding || logSegments() <= LOG_SEGMENTS) return;
    bounding = true;
    void sqlFor('checkpoint', statementLimitsMs.checkpoint ?? 0)
      .script('checkpoint')
      .catch(() => {}) // what is wrong shows at the next operation
      .finally(() => {
        bounding = false;
      });
  };
  const sqlFor = (operation: string, limitMs: number, owner: string | null = null): Sql => {
    const runQueued = <T>(work: () => Promise<T>): Promise<T> =>
      queue.run(owner, async () => {
        gauge.begin(operation, limitMs);
        try {
          const result = await work();
          gauge.end();
          boundLog();
          return result;
        } catch (error) {
          if (!(error instanceof WebAssembly.RuntimeError)) gauge.end(); // else the thread ends, and the gauge shows what it was running
          throw databaseError(error);
        }
      });
    return {
      kind: 'embedded',
      rows: (sql) => runQueued(() => (owner === null ? kept.rows(compiled(sql)) : rows(pglite, sql))),
      script: (text) => runQueued(async () => void (await pglite.exec(text))),
      transaction: (work) => runQueued(() => transaction(pglite, owner === null ? kept : null, work)),
    };
  };

  await prepare(sqlFor('migrate', Number.MAX_SAFE_INTEGER));
  if (isNew) {
    await flushTree(data);
    rmSync(making);
    await flushTree(folder);
  }
  return {
    sqlFor,
    refuseWaiting: queue.refuseWaiting,
    listen: (channel, listener) => pglite.listen(channel, listener),
    async close() {
      await queue.idle();
      await pglite.exec('checkpoint');
      await pglite.close();
      stop();
    },
  };
}

/** A broken engine stays broken: its error is thrown even if the rollback fails with another, since its thread has to end (serve-operations.ts). */
async function transaction<T>(pglite: PGlite, kept: KeptStatements | null, work: (tx: Sql) => Promise<T>): Promise<T> {
  let broken: unknown;
  try {
    return await pglite.transaction((tx) =>
      work(transactionSql(tx, kept)).catch((error: unknown) => {
        if (error instanceof WebAssembly.RuntimeError) broken = error;
        throw error;
      }),
    );
  } catch (error) {
    throw broken ?? error;
  }
}

/** Free time of a cassette's statement or transaction; for time beyond it the cassette waits, so that about half of the time is left for storing. */
const FREE = { freeMs: 200, mostMs: 10_000 };

/** Segments of the write-ahead log, of 16 MiB each, after which there is a checkpoint. What is written before it is bounded by one operation. */
const LOG_SEGMENTS = 3;

/**
 * PGlite's start parameters, but with fsync on (power-cut.ts), through the one call that its file system implements. PostgreSQL's own copy of
 * the pages in use is a quarter of the default: it is filled with zeros at each start and stays in memory, and what is not in it comes from
 * the system's page cache. (`npm run bench -- intake`, whose databases are small, is the same at 16, 32 and 128 MB.)
 * After a checkpoint at most as many segments of the write-ahead log are kept for reuse as are written between two.
 * `analyze` holds 300 rows for each unit of the target, and nothing else runs until it is done: at the default of 100 it takes a second for
 * spans, and leaves 36 MiB of WebAssembly memory, which never shrinks. 7,500 rows take a quarter of the time and show the same distributions.
 */
const START = [
  ...PGlite.defaultStartParams.filter((param) => param !== '-F'),
  ...[
    'wal_sync_method=fsync',
    'shared_buffers=32MB',
    'max_wal_size=64MB',
    'min_wal_size=32MB',
    'default_statistics_target=25',
  ].flatMap((setting) => ['-c', setting]),
];

async function rows<Row extends Record<string, unknown>>(client: PGlite | Transaction, sql: SQL): Promise<Row[]> {
  const { text, parameters } = compiled(sql);
  return (await client.query<Row>(text, parameters)).rows;
}

/** @param kept null: an owner's statements, which may change what their plans stand on */
function transactionSql(tx: Transaction, kept: KeptStatements | null): Sql {
  const translated = <T>(work: Promise<T>) =>
    work.catch((error: unknown) => {
      throw databaseError(error);
    });
  return withSavepoints({
    kind: 'embedded',
    rows: (sql) => translated(kept && !tx.closed ? kept.rows(compiled(sql)) : rows(tx, sql)),
    script: (text) => translated(tx.exec(text).then(() => undefined)),
  });
}
