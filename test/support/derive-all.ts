/** Brings every session up to its turns, with one derive worker that ends when nothing is due. */
import * as assert from 'uvu/assert';
import { builtIn, type Reader } from '../../core/call/reader.ts';
import type { Database } from '../../core/db/database.ts';
import { runDeriveWorker } from '../../core/engine/derive/derive-worker.ts';
import { openLog } from '../../core/log.ts';

export async function deriveAll(database: Database, reader: Reader = builtIn): Promise<void> {
  const stopping = new AbortController();
  const worker = runDeriveWorker({
    database,
    reader,
    log: openLog('silent'),
    metrics: { derived: () => {}, derivePending: () => {} },
    signal: stopping.signal,
    pollMs: 50,
  });
  await worker.drained();
  stopping.abort();
  await worker.stopped;
  assert.equal(await database.execute('derivePending', {}), { queued: 0, parked: 0, oldest_seconds: 0 });
}
