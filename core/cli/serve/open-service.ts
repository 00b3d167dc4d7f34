/** Opens what runs behind the proxy, or as a role by itself: database, engine, listeners, cassettes; and closes it again. */
import { join } from 'node:path';
import { bytesOfRuns } from '../../capture/journal.ts';
import { collectWhenIdle } from '../../collect-when-idle.ts';
import { type Engine, startEngine } from '../../engine/engine.ts';
import { openMetrics } from '../../metrics.ts';
import { budgetsOf } from '../../model/budget-settings.ts';
import { retentionRules } from '../../model/retention.ts';
import { configuredPrices } from '../configured-prices.ts';
import type { Backing, Listeners, Process } from './listening.ts';
import type { Closing, ServiceParts } from './service-parts.ts';

export type OpenService = {
  listeners: Listeners;
  engine: Engine;
  /** Closes all of it in order, the database last. */
  close(): Promise<void>;
};

/**
 * @throws {OperatorError} an address is taken, the folder is in use, pricing.file is no price list, or the database cannot be reached (only
 *   what keeps a journal and serves all needs it at the start, and what has an embedded one)
 */
export async function openService(parts: ServiceParts): Promise<OpenService> {
  const { loaded, io, role, version, log, journal } = parts;
  const { config, folder } = loaded;
  const journalFolder = join(folder, 'journal');
  const closers: (() => Promise<unknown>)[] = []; // called in reverse, also when a later part cannot start
  const closing: Closing = (close) => void closers.push(close);
  const close = async () => {
    for (const step of closers.splice(0).reverse())
      await step().catch((error: Error) => log.warn({ reason: error.message }, 'while stopping'));
  };
  const stopCollecting = collectWhenIdle();
  closing(async () => stopCollecting());
  try {
    const prices = await configuredPrices(loaded, io);
    const backing = await backingOf(parts, closing);
    await journal?.live.begun;
    const { connection, reach } = backing;
    const engine = startEngine({
      connection,
      journal: journal && {
        folder: journalFolder,
        live: journal.live.current(),
        freed: journal.deleted,
      },
      reach,
      ...(backing.reachable && { reachable: backing.reachable }),
      ingest: role === 'all' || role === 'ingest' || role === 'api', // the read API stores the demo's sessions
      derive: role === 'all' || role === 'derive',
      yields: role === 'all' || role === 'proxy',
      prices,
      publish: config.publisher.stream.brokers.length > 0 ? config.publisher.stream : null,
      retention: role === 'all' || role === 'derive' ? retentionRules(config.retention) : null,
      budgets: role === 'all' || role === 'derive' ? budgetsOf(config.budget) : null,
      logLevel: config.log.level,
      log,
    });
    closing(() => engine.stop());
    journal?.live.attach(engine);
    const { addresses, counters, processes } = parts;
    const shared: Process = {
      ...{ config, prices, engine, log, version, addresses, counters, processes, env: io.env },
      metrics: openMetrics(role, version),
      journal: journal && {
        bytes: () => bytesOfRuns(journalFolder),
        maxBytes: journal.live.maxBytes,
      },
    };
    const listeners = await backing.listen(shared);
    closing(() => listeners.close(0));
    const { endpoint, disabled } = config.telemetry;
    if (endpoint !== '' && !disabled) closing((await import('./export-metrics.ts')).exportMetrics(parts, shared));
    return { listeners, engine, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function backingOf(parts: ServiceParts, closing: Closing): Promise<Backing> {
  const { role, loaded } = parts;
  if (role === 'proxy') return (await import('./intake-alone.ts')).intakeAlone(parts);
  if (role === 'all' || loaded.config.storage.postgres_dsn === '')
    return (await import('./with-database.ts')).withDatabase(parts, closing);
  return (await import('./with-server.ts')).withServer({ ...parts, role }, closing);
}
