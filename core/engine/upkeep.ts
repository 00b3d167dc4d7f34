/** Upkeep beside the engine's work: measures the database, and sweeps the embedded one, which has no autovacuum. */
import type { Database } from '../db/database.ts';
import { reasonOf } from '../errors.ts';
import type { Logger } from '../log.ts';

const LOOK_MS = 60_000;

/** Runs once a minute until the signal; what sweeps is skipped while sessions wait for derivation. */
export function runUpkeep({ database, log, signal }: { database: Database; log: Logger; signal: AbortSignal }): void {
  const look = async () => {
    await database.execute('recordSize', {});
    if (database.kind === 'server') return;
    const { queued } = await database.execute('derivePending', {});
    if (queued > 0 || signal.aborted) return;
    const { tables } = await database.execute('vacuum', {});
    if (tables.length > 0) log.debug({ tables }, 'swept');
  };
  const timer = setInterval(() => {
    look().catch((error: unknown) => log.warn({ reason: reasonOf(error) }, 'the upkeep of the database failed'));
  }, LOOK_MS);
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}
