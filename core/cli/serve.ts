/** How does the service come up, and go down again? All parts are wired here, and nowhere else. */
import { dirname, join } from 'node:path';
import { type Journal, openJournal } from '../capture/journal.ts';
import type { Loaded } from '../config/load.ts';
import { lockFolder } from '../db/client/folder-lock.ts';
import { openDatabase } from '../db/open.ts';
import { type Engine, startEngine } from '../engine/engine.ts';
import { type Log, openLog } from '../log.ts';
import { openMetrics } from '../metrics.ts';
import { banner, ingestBanner } from './banner.ts';
import { internalOf } from './internal-listen.ts';
import type { Io } from './io.ts';
import type { Listeners } from './listeners.ts';
import { readPriceTable } from './price-file.ts';
import type { Role } from './program.ts';
import { whereData } from './where-data.ts';

const GRACE_MS = 10_000; // for streams under way when we are asked to stop
const CASSETTES_MS = 2_000; // for what they do besides answering, once nobody listens any more
const DRAIN_MS = 10_000; // for the journal to reach the database; what does not is taken in at the next start

export type Serving = {
  role: Role;
  version: string;
  /** What to do once everything listens, as long as nobody asks to stop; default: the banner is printed. */
  running?: (listeners: Listeners) => Promise<void>;
};

type Closer = () => Promise<unknown>;

/**
 * Runs a role with its engine until SIGTERM or SIGINT; settles when all of it has stopped.
 * @throws {OperatorError} an address is taken, the folder is in use, the database cannot be reached, pricing.file is no price list
 */
export async function serve(loaded: Loaded, io: Io, { role, version, running }: Serving): Promise<void> {
  const { config, folder } = loaded;
  const log = openLog(config.log.level);
  const metrics = openMetrics(role, version);
  if (role === 'all') internalOf(io.env); // refused before anything is opened
  const closers: Closer[] = []; // undone in reverse when a later part cannot start
  const closing = <T>(part: T, close: Closer): T => {
    closers.push(close);
    return part;
  };
  const stopped = signalled();
  try {
    const { postgres_dsn: dsn, pooled } = config.storage;
    // The embedded database locks the folder itself; a journal in it needs that with a server just as well.
    if (dsn !== '' && role === 'all') closers.push(await lockFolder(folder));
    const prices = await readPriceTable(config.pricing.file, baseOf('pricing.file', loaded, io));
    const [database, { openListeners, openIngestListener }, { openCassettes }] = await Promise.all([
      openDatabase({ dsn, pooled, folder, log }).then((opened) => closing(opened, () => opened.close())),
      import('./listeners.ts'), // it is much to load, and the database takes its time
      import('./cassettes.ts'),
    ]);
    const journal = role === 'all' ? await openJournalIn(folder, config.journal.max_bytes, log) : null;
    if (journal) closers.push(() => journal.close());
    const engine = startEngine({
      connection: () => database.connection(),
      journal: journal && {
        folder: join(folder, 'journal'),
        runId: journal.runId,
        freed: (bytes) => journal.freed(bytes),
      },
      derive: role === 'all',
      prices,
      logLevel: config.log.level,
      log,
    });
    closers.push(() => engine.stop());
    journal?.onWritten((segment, byteOffset) => engine.written(segment, byteOffset));

    const parts = { config, database, engine, metrics, log, version, env: io.env };
    const cassettes = journal && openCassettes({ config, database, folder, io, log });
    if (cassettes) closers.push(() => cassettes.close(CASSETTES_MS));
    const listeners = await (journal && cassettes
      ? openListeners({ ...parts, journal, cassettes })
      : openIngestListener(parts));
    closers.push(() => listeners.close(0));
    await cassettes?.start();
    if (running) await Promise.race([running(listeners), stopped.first]);
    else io.out(welcome(listeners, loaded, version));

    const signal = await stopped.first;
    log.info({ signal }, 'stopping: nothing new is accepted, what is under way may finish');
    await Promise.race([listeners.close(GRACE_MS), stopped.second]);
    await journal?.flush();
    await drain(engine, log);
  } finally {
    stopped.forget();
    for (const close of closers.reverse())
      await close().catch((error: Error) => log.warn({ reason: error.message }, 'while stopping'));
  }
}

/** Where a relative path in a setting begins: at the file that sets it, else where the command was called. */
const baseOf = (path: string, { source, file }: Loaded, { cwd }: Io): string =>
  source[path] === 'file' && file !== null ? dirname(file) : cwd;

const openJournalIn = (folder: string, maxBytes: number, log: Log): Promise<Journal> =>
  openJournal({ folder: join(folder, 'journal'), maxBytes, log });

/** What is printed when everything listens. */
function welcome({ proxy, api, ingest, internal }: Listeners, { config, folder }: Loaded, version: string): string {
  const data = whereData(config.storage.postgres_dsn, folder);
  const at = { version, ingest: shown(ingest), data };
  if (proxy.length === 0) return ingestBanner(at);
  return banner({
    ...at,
    proxy: shown(proxy),
    api: shown(api),
    internal: internal.length > 0 ? shown(internal) : undefined,
    provider: config.proxy.provider,
  });
}

/** What the journal holds is brought into the database; what cannot be is still there at the next start. */
async function drain(engine: Engine, log: Log): Promise<void> {
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

/** An address to paste: loopback by its name. */
const shown = (addresses: readonly string[]) =>
  (addresses[0] ?? '').replace('//127.0.0.1:', '//localhost:').replace('//[::1]:', '//localhost:');
