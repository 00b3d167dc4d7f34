/** `svc serve`: starts and stops the service. All parts are wired here, and nowhere else. */
import { dirname, join } from 'node:path';
import { type Journal, openJournal } from '../capture/journal.ts';
import type { LoadedConfig } from '../config/load.ts';
import { lockFolder } from '../db/client/folder-lock.ts';
import { type Engine, startEngine } from '../engine/engine.ts';
import { watchListeners } from '../engine/pace.ts';
import { OperatorError } from '../errors.ts';
import { type Logger, openLog } from '../log.ts';
import { openMetrics } from '../metrics.ts';
import type { PriceTable } from '../price/price-file.ts';
import { banner, ingestBanner, proxyBanner } from './banner.ts';
import { internalOf } from './internal-listen.ts';
import type { Io } from './io.ts';
import type { Listeners } from './listening.ts';
import { refuseTakenPorts } from './ports.ts';
import type { ServeRole } from './program.ts';
import { publishAddresses } from './running-service.ts';
import { shownAddress } from './shown-address.ts';
import { uiAddress } from './ui-address.ts';
import { whereData } from './where-data.ts';

const GRACE_MS = 10_000; // for streams under way at a stop
/** How far the journal may fill while calls have precedence: half, less what may come before the next check; for a small one nothing. */
const waitingBytes = (maxBytes: number) => maxBytes / 2 - 67_108_864;
const DRAIN_MS = 10_000; // for the journal to reach the database; the rest is taken in at the next start

export type Serving = {
  role: ServeRole;
  version: string;
  /** Runs once everything listens, until a signal to stop; default: the banner is printed. */
  running?: (listeners: Listeners) => Promise<void>;
};

type Closer = () => Promise<unknown>;

/**
 * Runs a role with its engine until SIGTERM or SIGINT; settles when all of it has stopped.
 * @throws {OperatorError} an address is taken, the folder is in use, the database cannot be reached (a proxy alone starts without it),
 *   pricing.file is no price list
 */
export async function serve(loaded: LoadedConfig, io: Io, { role, version, running }: Serving): Promise<void> {
  const { config, folder } = loaded;
  const { postgres_dsn: dsn } = config.storage;
  const log = openLog(config.log.level);
  const metrics = openMetrics(role, version);
  if (role === 'proxy' && dsn === '') throw new OperatorError(NOWHERE_TO_STORE, 2);
  if (role !== 'ingest') internalOf(io.env); // refused before anything is opened
  const closers: Closer[] = []; // called in reverse, also when a later part cannot start
  const closing = (close: Closer) => void closers.push(close);
  const stopped = signalled();
  try {
    await refuseTakenPorts(loaded, role);
    // The embedded database locks the folder itself; with a server the journal in the folder needs the lock as well.
    if (dsn !== '' && role !== 'ingest') closing(await lockFolder(folder));
    const prices = await pricesOf(loaded, io);
    const backing = await (role === 'proxy'
      ? (await import('./proxy-alone.ts')).proxyAlone(loaded, log)
      : (await import('./with-database.ts')).withDatabase(loaded, io, log, closing));
    const journal = role === 'ingest' ? null : await openJournalIn(folder, config.journal.max_bytes, log);
    if (journal) closing(() => journal.close());
    const { connection, reach, begun, identified } = backing;
    const engine = startEngine({
      connection,
      journal: journal && {
        folder: join(folder, 'journal'),
        runId: journal.runId,
        freed: (bytes) => journal.freed(bytes),
      },
      reach,
      ...(begun && { begun }),
      ...(identified && { identified }),
      ingest: role !== 'proxy',
      derive: role === 'all',
      prices,
      logLevel: config.log.level,
      log,
    });
    closing(() => engine.stop());
    if (journal) {
      journal.onWritten(engine.written);
      const hasRoom = () => journal.bytes() < waitingBytes(config.journal.max_bytes);
      const unwatch = watchListeners({ calls: journal.calls, hasRoom }, engine.busy);
      closing(async () => unwatch());
    }

    const listeners = await backing.listen({ config, engine, metrics, log, version, env: io.env, journal });
    closing(() => listeners.close(0));
    if (role !== 'ingest') closing(await publishAddresses(folder, listeners)); // ingest alone has no folder of its own
    if (running) await Promise.race([running(listeners), stopped.first]);
    else io.out(welcome(listeners, loaded, { version, isTerminal: io.isTerminal === true }));

    const signal = await stopped.first;
    log.info({ signal }, 'stopping: nothing new is accepted, what is under way may finish');
    await Promise.race([listeners.close(GRACE_MS), stopped.second]);
    await journal?.flush();
    await drain(engine, log);
  } finally {
    stopped.stopListening();
    for (const close of closers.reverse())
      await close().catch((error: Error) => log.warn({ reason: error.message }, 'while stopping'));
  }
}

const NOWHERE_TO_STORE =
  'Cannot serve the proxy alone: its turns go into a PostgreSQL database that others read, and storage.postgres_dsn is not set';

/** Loaded only where a file is configured, since it loads a parser. */
async function pricesOf(loaded: LoadedConfig, io: Io): Promise<PriceTable | null> {
  const { file } = loaded.config.pricing;
  if (file === '') return null;
  const { readPriceTable } = await import('./price-file.ts');
  return readPriceTable(file, baseOf('pricing.file', loaded, io));
}

/** The folder of a relative path in a setting: that of the file that sets it, else where the command was called. */
const baseOf = (path: string, { source, file }: LoadedConfig, { cwd }: Io): string =>
  source[path] === 'file' && file !== null ? dirname(file) : cwd;

const openJournalIn = (folder: string, maxBytes: number, log: Logger): Promise<Journal> =>
  openJournal({ folder: join(folder, 'journal'), maxBytes, log });

/** The banner, printed when everything listens. */
function welcome(
  { proxy, api, ingest, internal }: Listeners,
  { config, folder }: LoadedConfig,
  { version, isTerminal }: { version: string; isTerminal: boolean },
): string {
  const data = whereData(config.storage.postgres_dsn, folder);
  const at = { version, ingest: shown(ingest), data };
  if (proxy.length === 0) return ingestBanner(at);
  const passing = {
    ...at,
    proxy: shown(proxy),
    internal: internal.length > 0 ? shown(internal) : undefined,
    provider: config.proxy.provider,
  };
  return api.length === 0
    ? proxyBanner(passing)
    : banner({
        ...passing,
        ui: uiAddress(shown(api), config.api, isTerminal),
        api: shown(api),
        wantsToken: config.api.token !== '',
      });
}

/** Empties the journal into the database; what is left is still there at the next start. */
async function drain(engine: Engine, log: Logger): Promise<void> {
  if (!(await engine.drain(DRAIN_MS))) log.warn('the journal is not empty: the rest is taken in at the next start');
}

/** The first signal asks to stop, a second one to stop without waiting for streams. */
function signalled(): { first: Promise<string>; second: Promise<void>; stopListening(): void } {
  let count = 0;
  let first = (_signal: string) => {};
  let second = () => {};
  const onSignal = (signal: string) => (count++ === 0 ? first(signal) : second());
  const signals = ['SIGTERM', 'SIGINT'];
  for (const signal of signals) process.on(signal, onSignal);
  return {
    first: new Promise((resolve) => {
      first = resolve;
    }),
    second: new Promise((resolve) => {
      second = resolve;
    }),
    stopListening: () => {
      for (const signal of signals) process.off(signal, onSignal);
    },
  };
}

const shown = (addresses: readonly string[]) => shownAddress(addresses[0] ?? '');
