/** The read API over a test's database that holds the demo sessions, derived as the engine does it. */
import { v7 } from 'uuid';
import * as assert from 'uvu/assert';
import { builtIn } from '../../core/call/reader.ts';
import { runDeriveWorker } from '../../core/engine/derive/derive-worker.ts';
import { openIngest } from '../../core/engine/ingest/ingest-writer.ts';
import { openLog } from '../../core/log.ts';
import type { TestDatabase } from './databases.ts';
import { testApi } from './read-api.ts';

/** At noon of 2026-11-21. The engine is stopped again: nothing changes any more. */
export async function demoApi(database: TestDatabase) {
  const stopping = new AbortController();
  const { identity_key } = await database.execute('installation', {});
  const metrics = { derived: () => {}, derivePending: () => {}, intakeTurn: () => {}, notCaptured: () => {} };
  const parts = { database, reader: builtIn, log: openLog('silent'), metrics };
  const worker = runDeriveWorker({ ...parts, signal: stopping.signal, pollMs: 50 });
  const identityKey = Buffer.from(identity_key, 'hex');
  const ingest = openIngest({ ...parts, identityKey, newId: v7, committed: worker.poke });
  const api = testApi({
    execute: database.execute,
    append: (body) => ingest.append(body, null),
    now: () => Date.parse('2026-11-21T12:00:00Z'),
  });
  const seeded = await api.request('/v1/admin/seed/demo', { method: 'POST' });
  assert.is(seeded.status, 200);
  stopping.abort();
  await worker.stopped;
  return api;
}
