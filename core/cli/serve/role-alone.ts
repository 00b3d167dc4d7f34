/** `svc serve api`, `ingest` and `derive`: each a process by itself, of which any number run beside each other on one PostgreSQL. */
import type { LoadedConfig } from '../../config/load.ts';
import { holderOf } from '../../db/client/folder-lock.ts';
import { openLog } from '../../log.ts';
import type { Io } from '../io.ts';
import { roleBanner } from './banner.ts';
import { holdAddress } from './held-addresses.ts';
import { internalOf } from './internal-listen.ts';
import { openService } from './open-service.ts';
import type { LoneRole } from './role.ts';
import { openServiceManager } from './service-manager.ts';
import type { Serving } from './serving.ts';
import { noOthers } from './shared-counters.ts';
import { stopSignals } from './stop-signals.ts';

const GRACE_MS = 10_000; // for requests under way at a stop
const STORE_MS = 10_000; // for what was accepted

/** Settles when it has stopped. @throws {OperatorError} as `openService` does */
export async function serveAlone(
  loaded: LoadedConfig,
  io: Io,
  { role, version, running }: Serving & { role: LoneRole },
): Promise<void> {
  const log = openLog(loaded.config.log.level);
  internalOf(io.env); // refused before anything is opened
  const signals = stopSignals();
  try {
    await checkAddress(loaded, role);
    const { listeners, engine, close } = await openService({
      ...{ loaded, io, role, version, log, pid: process.pid, addresses: {}, journal: null },
      ...{ counters: noOthers, processes: () => [], startedAt: Date.now() },
    });
    const manager = openServiceManager({ env: io.env, log, pid: process.pid });
    try {
      manager.ready(`${role} up`);
      if (running) await Promise.race([running(listeners), signals.first]);
      else io.out(roleBanner({ ...{ role, version, loaded, isTerminal: io.isTerminal === true }, ...listeners }));
      const signal = await signals.first;
      manager.stopping();
      log.info({ signal }, 'stopping: nothing new is accepted, what is under way may finish');
      await Promise.race([listeners.close(GRACE_MS), signals.second]);
      if (role === 'ingest') await Promise.race([engine.drain(STORE_MS), signals.second]);
    } finally {
      await close();
      await manager.close();
    }
  } finally {
    signals.close();
  }
}

/** Checks the address before anything is made; of a folder in use, its lock gives the better reason. */
async function checkAddress({ config, folder }: LoadedConfig, role: LoneRole): Promise<void> {
  if (config.storage.postgres_dsn === '' && holderOf(folder) !== null) return;
  if (role === 'api') (await holdAddress(config.api.listen, 'read API', '--api-listen')).release();
  if (role === 'ingest') (await holdAddress(config.ingest.listen, 'ingest API', '--ingest-listen')).release();
}
