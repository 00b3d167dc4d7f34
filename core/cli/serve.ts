/** How does the service come up, and go down again? All parts are wired here, and nowhere else. */
import { join } from 'node:path';
import { type Journal, openJournal } from '../capture/journal.ts';
import type { Loaded } from '../config/load.ts';
import { lockFolder } from '../db/folder-lock.ts';
import { openDatabase } from '../db/open.ts';
import { type Engine, startEngine } from '../engine/engine.ts';
import { type Log, openLog } from '../log.ts';
import { openMetrics } from '../metrics.ts';
import { banner } from './banner.ts';
import type { Io } from './program.ts';

const GRACE_MS = 10_000; // for streams under way when we are asked to stop
const DRAIN_MS = 10_000; // for the journal to reach the database; what does not is taken in at the next start

/**
 * Runs capture proxy, read API and ingest API with their engine until SIGTERM or SIGINT; settles when all of it has stopped.
 * @throws {OperatorError} an address is taken, the folder is in use, the database cannot be reached
 */
export async function serve({ config, folder }: Loaded, io: Io, version: string): Promise<void> {
  const log = openLog(config.log.level);
  const metrics = openMetrics('all', version);
  const closers: (() => Promise<unknown>)[] = []; // undone in reverse when a later part cannot start
  const stopped = signalled();
  try {
    const { postgres_dsn: dsn, pooled } = config.storage;
    // The embedded database locks the folder itself; the journal in it needs that with a server just as well.
    if (dsn !== '') closers.push(await lockFolder(folder));
    const [database, { openListeners }] = await Promise.all([
      openDatabase({ dsn, pooled, folder, log }),
      import('./listeners.ts'), // it is much to load, and the database takes its time
    ]);
    closers.push(() => database.close());
    const journal = await openJournal({ folder: join(folder, 'journal'), maxBytes: config.journal.max_bytes, log });
    closers.push(() => journal.close());
    const engine = startEngine({
      connection: () => database.connection(),
      journalFolder: join(folder, 'journal'),
      runId: journal.runId,
      logLevel: config.log.level,
      log,
      freed: (bytes) => journal.freed(bytes),
    });
    closers.push(() => engine.stop());
    journal.onWritten((segment, byteOffset) => engine.written(segment, byteOffset));

    const listeners = await openListeners({ config, database, journal, engine, metrics, log, version, env: io.env });
    closers.push(() => listeners.close(0));
    io.out(
      banner({
        version,
        proxy: shown(listeners.proxy),
        api: shown(listeners.api),
        ingest: shown(listeners.ingest),
        data: whereData(dsn, folder),
        provider: config.proxy.provider,
      }),
    );

    const signal = await stopped.first;
    log.info({ signal }, 'stopping: nothing new is accepted, what is under way may finish');
    await Promise.race([listeners.close(GRACE_MS), stopped.second]);
    await drain(journal, engine, log);
  } finally {
    stopped.forget();
    for (const close of closers.reverse())
      await close().catch((error: Error) => log.warn({ reason: error.message }, 'while stopping'));
  }
}

/** What the journal holds is brought into the database; what cannot be is still there at the next start. */
async function drain(journal: Journal, engine: Engine, log: Log): Promise<void> {
  await journal.flush();
  if (!(await engine.drain(DRAIN_MS))) log.warn('the journal is not empty: the rest is taken in at the next start');
}

/** The first signal asks to stop, a second one to be quick about it. */
function signalled(): { first: Promise<string>; second: Promise<void>; forget(): void } {
  let heard = 0;
  let first = (_signal: string) => {};
  let second = () => {};
  const hear = (signal: string) => (heard++ === 0 ? first(signal) : second());
  const signals = ['SIGTERM', 'SIGINT'];
  for (const signal of signals) process.on(signal, hear);
  return {
    first: new Promise((resolve) => {
      first = resolve;
    }),
    second: new Promise((resolve) => {
      second = resolve;
    }),
    forget: () => {
      for (const signal of signals) process.off(signal, hear);
    },
  };
}

/** Where the turns lie, without the password of a DSN. */
function whereData(dsn: string, folder: string): string {
  if (dsn === '') return join(folder, 'data');
  const { host, pathname } = new URL(dsn);
  return `PostgreSQL at ${host}${pathname}`;
}

/** An address to paste: loopback by its name. */
const shown = (addresses: readonly string[]) =>
  (addresses[0] ?? '').replace('//127.0.0.1:', '//localhost:').replace('//[::1]:', '//localhost:');
