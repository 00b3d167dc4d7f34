/** Opens what runs behind the proxy, or as the ingest API alone: database, engine, listeners, cassettes; and closes it again. */
import { join } from 'node:path';
import { bytesOfRuns } from '../../capture/journal.ts';
import { type Engine, startEngine } from '../../engine/engine.ts';
import { openMetrics } from '../../metrics.ts';
import { retentionRules } from '../../model/retention.ts';
import { configuredPrices } from '../configured-prices.ts';
import type { Listeners, Process } from './listening.ts';
import type { Closing, ServiceParts } from './service-parts.ts';

export type OpenService = {
  listeners: Listeners;
  engine: Engine;
  /** Closes all of it in order, the database last. */
  close(): Promise<void>;
};

/**
 * @throws {OperatorError} an address is taken, the folder is in use, the database cannot be reached (an intake starts without it),
 *   pricing.file is no price list
 */
export async function openService(parts: ServiceParts): Promise<OpenService> {
  const { loaded, io, role, version, log, journal } = parts;
  const { config, folder } = loaded;
  const closers: (() => Promise<unknown>)[] = []; // called in reverse, also when a later part cannot start
  const closing: Closing = (close) => void closers.push(close);
  const close = async () => {
    for (const step of closers.splice(0).reverse())
      await step().catch((error: Error) => log.warn({ reason: error.message }, 'while stopping'));
  };
  try {
    const prices = await configuredPrices(loaded, io);
    const backing = await (role === 'proxy'
      ? (await import('./intake-alone.ts')).intakeAlone(loaded)
      : (await import('./with-database.ts')).withDatabase(parts, closing));
    await journal?.live.begun;
    const { connection, reach } = backing;
    const engine = startEngine({
      connection,
      journal: journal && {
        folder: join(folder, 'journal'),
        live: journal.live.current(),
        freed: journal.deleted,
      },
      reach,
      ingest: role !== 'proxy',
      derive: role === 'all',
      prices,
      publish: config.publisher.stream.brokers.length > 0 ? config.publisher.stream : null,
      retention: role === 'all' ? retentionRules(config.retention) : null,
      logLevel: config.log.level,
      log,
    });
    closing(() => engine.stop());
    journal?.live.attach(engine);
    const { addresses, counters, processes } = parts;
    const shared: Process = {
      ...{ config, engine, log, version, addresses, counters, processes, env: io.env },
      metrics: openMetrics(role, version),
      journalBytes: journal && (() => bytesOfRuns(join(folder, 'journal'))),
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
