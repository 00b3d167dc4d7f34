/** Upkeep while the engine is idle: sweeps the embedded database, which has no autovacuum. */
import type { Database } from '../db/database.ts';
import type { Logger } from '../log.ts';

const LOOK_MS = 60_000;

/** Runs once a minute until the signal; skipped while sessions wait for derivation. */
export function runUpkeep({ database, log, signal }: { database: Database; log: Logger; signal: AbortSignal }): void {
  if (database.kind === 'server') return;
  const look = async () => {
    const { queued } = await database.execute('derivePending', {});
    if (queued > 0 || signal.aborted) return;
    const { tables } = await database.execute('vacuum', {});
    if (tables.length > 0) log.debug({ tables }, 'swept');
  };
  const timer = setInterval(() => {
    look().catch((error: unknown) => log.warn({ reason: (error as Error).name }, 'the database could not be swept'));
  }, LOOK_MS);
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}
