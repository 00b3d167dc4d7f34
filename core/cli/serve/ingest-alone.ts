/** `svc serve ingest`: the ingest API and its engine, in a process by itself. */
import type { LoadedConfig } from '../../config/load.ts';
import { holderOf } from '../../db/client/folder-lock.ts';
import { openLog } from '../../log.ts';
import type { Io } from '../io.ts';
import { shownAddress } from '../shown-address.ts';
import { whereData } from '../where-data.ts';
import { ingestBanner } from './banner.ts';
import { holdAddress } from './held-addresses.ts';
import { openService } from './open-service.ts';
import { openServiceManager } from './service-manager.ts';
import type { Serving } from './serving.ts';
import { noOthers } from './shared-counters.ts';
import { stopSignals } from './stop-signals.ts';

const GRACE_MS = 10_000; // for bodies under way at a stop
const STORE_MS = 10_000; // for what was accepted

/** Settles when it has stopped. @throws {OperatorError} as `openService` does */
export async function serveIngest(loaded: LoadedConfig, io: Io, { version, running }: Serving): Promise<void> {
  const { config, folder } = loaded;
  const log = openLog(config.log.level);
  const signals = stopSignals();
  try {
    // Checked before anything is made; of a folder in use, the lock gives the better reason.
    if (holderOf(folder) === null) (await holdAddress(config.ingest.listen, 'ingest API', '--ingest-listen')).release();
    const { listeners, engine, close } = await openService({
      ...{ loaded, io, role: 'ingest', version, log, pid: process.pid, addresses: {}, journal: null },
      ...{ counters: noOthers, processes: () => [], startedAt: Date.now() },
    });
    const manager = openServiceManager({ env: io.env, log, pid: process.pid });
    try {
      manager.ready('ingest API up');
      if (running) await Promise.race([running(listeners), signals.first]);
      else {
        const data = whereData(config.storage.postgres_dsn, folder);
        io.out(ingestBanner({ version, data, ingest: shownAddress(listeners.ingest[0] ?? '') }));
      }
      const signal = await signals.first;
      log.info({ signal }, 'stopping: nothing new is accepted, what is under way may finish');
      manager.stopping();
      await Promise.race([listeners.close(GRACE_MS), signals.second]);
      await engine.drain(STORE_MS);
    } finally {
      await close();
      await manager.close();
    }
  } finally {
    signals.close();
  }
}
