/** `svc serve`: holds the addresses and keeps two processes running, the capture proxy and the service behind it, until a signal. */
import type { LoadedConfig } from '../../config/load.ts';
import { refuseUnusable } from '../../db/client/data-folder.ts';
import { holderOf, lockFolder } from '../../db/client/folder-lock.ts';
import { OperatorError } from '../../errors.ts';
import { openLog } from '../../log.ts';
import type { ProcessState } from '../../model/status.ts';
import { configuredPrices } from '../configured-prices.ts';
import type { Io } from '../io.ts';
import { publishService } from '../running-service.ts';
import { looksForUpdates, startUpdateChecks } from '../settings/update-checks.ts';
import { whereData } from '../where-data.ts';
import { bannerEnd, bannerStart, transcriptsOffer } from './banner.ts';
import { canHoldAddresses, type HeldAddress, holdAddress } from './held-addresses.ts';
import { internalOf } from './internal-listen.ts';
import { type HeldAddresses, type Processes, startProcesses } from './processes.ts';
import type { ServeRole } from './role.ts';
import { openServiceManager } from './service-manager.ts';
import type { Addresses, Serving } from './serving.ts';
import { type StopSignals, stopSignals } from './stop-signals.ts';

const GRACE_MS = 10_000; // for streams under way at a stop

/**
 * Settles when all of it has stopped.
 * @throws {OperatorError} an address is taken, the folder is in use, pricing.file is no price list, this user may not read the embedded
 *   database, the capture proxy does not start; or at the first start the database cannot be used (a proxy alone starts without it)
 */
export async function serve(loaded: LoadedConfig, io: Io, serving: Serving): Promise<void> {
  const { config, folder } = loaded;
  const { role } = serving;
  if (config.storage.postgres_dsn === '' && role in NEEDS_SERVER) throw new OperatorError(NEEDS_SERVER[role] ?? '', 2);
  if (role !== 'all' && role !== 'proxy')
    return (await import('./role-alone.ts')).serveAlone(loaded, io, { ...serving, role });
  internalOf(io.env); // refused before anything is opened, as are prices and a database that cannot be used
  if (config.storage.postgres_dsn === '') refuseUnusable(folder);
  await configuredPrices(loaded, io);
  const signals = stopSignals();
  const undo: (() => unknown)[] = [() => signals.close()];
  try {
    const hold = () => holdAddresses(loaded, io, role);
    const early = holderOf(folder) === null ? await hold() : null; // of a folder in use, the lock gives the better reason
    undo.push(() => release(early ?? {}));
    undo.push(await lockFolder(folder));
    serving.shared?.opened();
    const held = early ?? (await hold());
    undo.push(() => release(held));
    await superviseUntilStopped(loaded, io, { ...serving, role, held, signals });
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

/** What a role that cannot do its work on an embedded database, which is one process's, says without a server. */
const NEEDS_SERVER: Partial<Record<ServeRole, string>> = {
  proxy:
    'Cannot serve the proxy alone: its turns go into a PostgreSQL database that others read, and storage.postgres_dsn is not set',
  api: 'Cannot serve the read API alone: it shows a PostgreSQL database that others fill, and storage.postgres_dsn is not set',
  derive:
    'Cannot derive alone: it derives what others store in a PostgreSQL database, and storage.postgres_dsn is not set',
};

type Supervision = Serving & { role: 'all' | 'proxy'; held: HeldAddresses; signals: StopSignals };

async function superviseUntilStopped(loaded: LoadedConfig, io: Io, options: Supervision): Promise<void> {
  const { role, version, held, signals, running, shared } = options;
  const log = openLog(loaded.config.log.level);
  if (!canHoldAddresses)
    log.warn('sockets cannot be passed on here: while a process is started again, its address refuses connections');
  const published = publishService(loaded.folder, addressesOf(held), {
    data: whereData(loaded.config.storage.postgres_dsn, loaded.folder),
    shared: shared !== undefined,
  });
  let giveUp = (_error: OperatorError) => {};
  const failed = new Promise<never>((_, reject) => {
    giveUp = reject;
  });
  failed.catch(() => {}); // also when it comes while all is being stopped
  const manager = openServiceManager({
    ...{ env: shared ? {} : io.env, log, pid: process.pid }, // what 'svc start' runs is no unit's
    isWell: () => processes.areWell(),
  });
  const processes: Processes = startProcesses({
    ...{ held, log, out: io.out },
    changed: (states) => {
      published.update(states);
      manager.status(stateLine(states));
    },
    start: { loaded, role, version, startedAt: Date.now(), io: { env: io.env, cwd: io.cwd, home: io.home } },
    hopeless: (reason) => giveUp(new OperatorError(`Cannot serve: the capture proxy does not start: ${reason}`)),
  });
  let updateChecks: { stop(): void } | null = null;
  try {
    const stopped = signals.first.then(() => null);
    const addresses = addressesOf(held);
    const proxyUp = await Promise.race([processes.proxy.ready, stopped, failed]);
    const facts = { role, loaded, version, isTerminal: io.isTerminal === true, ...addresses, ...proxyUp };
    if (proxyUp && !running) io.out(bannerStart(facts));
    const allUp = proxyUp && (await Promise.race([processes.service.ready, stopped, failed]));
    if (allUp) manager.ready(stateLine(processes.states()));
    if (allUp && running) await Promise.race([running({ ...facts, ...allUp }), stopped, failed]);
    else if (allUp) {
      io.out(bannerEnd({ ...facts, ...allUp }));
      if (role === 'all') void offerTranscripts(loaded, io);
    }
    if (allUp && looksForUpdates(loaded)) updateChecks = startUpdateChecks({ version, folder: loaded.folder, log, io });

    const signal = await Promise.race([signals.first, failed]);
    log.info({ signal }, 'stopping: nothing new is accepted, what is under way may finish');
    manager.stopping();
    release(held);
    await Promise.race([processes.stop(GRACE_MS), signals.second.then(() => processes.stop(0))]);
  } finally {
    updateChecks?.stop();
    await processes.stop(0);
    published.withdraw();
    await manager.close();
  }
}

const stateLine = (states: readonly ProcessState[]) => states.map(({ name, state }) => `${name} ${state}`).join(', ');

/** Beside the start, which never waits for it. */
async function offerTranscripts({ folder }: LoadedConfig, io: Io): Promise<void> {
  try {
    const { unsentTranscripts } = await import('../sync/offer.ts');
    const found = await unsentTranscripts(folder, io);
    if (found) io.out(transcriptsOffer(found));
  } catch {} // what cannot be looked at is not offered
}

async function holdAddresses({ config }: LoadedConfig, { env }: Io, role: 'all' | 'proxy'): Promise<HeldAddresses> {
  const internal = env.SVC_INTERNAL_LISTEN ?? '';
  const held: HeldAddresses = {};
  try {
    held.proxy = await holdAddress(config.proxy.listen, 'capture proxy', '--proxy-listen');
    if (role === 'all') {
      held.api = await holdAddress(config.api.listen, 'read API', '--api-listen');
      held.ingest = await holdAddress(config.ingest.listen, 'ingest API', '--ingest-listen');
    }
    if (internal !== '') held.internal = await holdAddress(internal, 'internal listener');
    return held;
  } catch (error) {
    release(held);
    throw error;
  }
}

const release = (held: HeldAddresses): void => {
  for (const address of Object.values(held)) (address as HeldAddress).release();
};

const addressesOf = (held: HeldAddresses): Addresses => ({
  proxy: held.proxy?.urls ?? [],
  api: held.api?.urls ?? [],
  ingest: held.ingest?.urls ?? [],
  internal: held.internal?.urls ?? [],
});
