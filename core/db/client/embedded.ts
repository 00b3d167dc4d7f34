/** How does PGlite answer as our Sql? One statement or transaction at a time, each announced on the gauge that the watchdog reads. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { PGlite, type Transaction } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { type SQL, sql as statement } from 'drizzle-orm';
import { openFairQueue } from '../fair-queue.ts';
import type { Sql } from '../sql.ts';
import { dataFolder, isMade } from './data-folder.ts';
import { databaseError } from './failure.ts';
import type { Gauge } from './gauge.ts';
import { durableFiles, flushTree } from './power-cut.ts';
import { columnReaders, compiled } from './wire-text.ts';

export type Embedded = {
  /** The Sql of one question; `limitMs` is what each of its statements or transactions may take. @param owner whose time it takes */
  sqlFor(question: string, limitMs: number, owner?: string | null): Sql;
  /** What waits of owners is given up. */
  refuseWaiting(error: Error): void;
  listen(channel: string, heard: (payload: string) => void): Promise<() => Promise<void>>;
  /** Waits for what is under way, then closes with everything on disk. */
  close(): Promise<void>;
};

/**
 * @param folder holds the database in `data`, made on first use. One process only: the caller holds the folder's lock
 * @param prepare runs on a database before it counts as made: one whose making was cut short is made anew
 */
export async function openEmbedded(
  folder: string,
  gauge: Gauge,
  prepare: (sql: Sql) => Promise<void>,
): Promise<Embedded> {
  const { data, making } = dataFolder(folder);
  const isNew = !isMade(folder);
  if (isNew) {
    rmSync(data, { recursive: true, force: true });
    writeFileSync(making, '');
  }
  mkdirSync(data, { recursive: true, mode: 0o700 });

  const { files, stop } = durableFiles(data);
  const pglite = new PGlite({ fs: files, startParams: START, extensions: { vector } });
  await pglite.waitReady;
  for (const oid of Object.keys(pglite.parsers)) pglite.parsers[oid] = (text) => text; // without one it has its own
  Object.assign(pglite.parsers, columnReaders);
  for (const oid of Object.keys(pglite.serializers)) delete pglite.serializers[oid]; // parameters come in text format

  const queue = openFairQueue(FREE);
  const sqlFor = (question: string, limitMs: number, owner: string | null = null): Sql => {
    const alone = <T>(work: () => Promise<T>): Promise<T> =>
      queue.run(owner, async () => {
        gauge.begin(question, limitMs);
        try {
          const answer = await work();
          gauge.end();
          return answer;
        } catch (error) {
          if (!(error instanceof WebAssembly.RuntimeError)) gauge.end(); // else the thread ends, and this says what it was doing
          throw databaseError(error);
        }
      });
    return {
      kind: 'embedded',
      rows: (sql) => alone(() => rows(pglite, sql)),
      script: (text) => alone(async () => void (await pglite.exec(text))),
      transaction: (work) => alone(() => transaction(pglite, work)),
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
    listen: (channel, heard) => pglite.listen(channel, heard),
    async close() {
      await queue.idle();
      await pglite.exec('checkpoint');
      await pglite.close();
      stop();
    },
  };
}

/** An engine that is broken stays so: whatever rolling back then says, its thread has to end. (serve-questions.ts) */
async function transaction<T>(pglite: PGlite, work: (tx: Sql) => Promise<T>): Promise<T> {
  let broken: unknown;
  try {
    return await pglite.transaction((tx) =>
      work(transactionSql(tx, 1)).catch((error: unknown) => {
        if (error instanceof WebAssembly.RuntimeError) broken = error;
        throw error;
      }),
    );
  } catch (error) {
    throw broken ?? error;
  }
}

/** Of a cassette's statement or transaction; what goes beyond it pays for with waiting, so that about half of the time is left for storing. */
const FREE = { freeMs: 200, mostMs: 10_000 };

/** As PGlite starts, but with fsync on (power-cut.ts), through the one call that its file system hears. */
const START = [...PGlite.defaultStartParams.filter((word) => word !== '-F'), '-c', 'wal_sync_method=fsync'];

async function rows<Row extends Record<string, unknown>>(on: PGlite | Transaction, sql: SQL): Promise<Row[]> {
  const { text, parameters } = compiled(sql);
  return (await on.query<Row>(text, parameters)).rows;
}

function transactionSql(tx: Transaction, depth: number): Sql {
  const ours = <T>(work: Promise<T>) =>
    work.catch((error: unknown) => {
      throw databaseError(error);
    });
  const savepoint = statement.raw(`sp${depth}`);
  return {
    kind: 'embedded',
    rows: (sql) => ours(rows(tx, sql)),
    script: (text) => ours(tx.exec(text).then(() => undefined)),
    async transaction(work) {
      await ours(rows(tx, statement`savepoint ${savepoint}`));
      try {
        const result = await work(transactionSql(tx, depth + 1));
        await ours(rows(tx, statement`release savepoint ${savepoint}`));
        return result;
      } catch (error) {
        await ours(rows(tx, statement`rollback to savepoint ${savepoint}`));
        throw error;
      }
    },
  };
}
