/** Why a worker has lost a session as the log has it: somebody else has it, or it was removed, which is nothing to warn of. */
import pino from 'pino';
import * as assert from 'uvu/assert';
import { builtIn } from '../../../../core/call/reader.ts';
import type { Lease } from '../../../../core/db/derive/derive-queue.ts';
import { deriveLeased, type LeasedDeps } from '../../../../core/engine/derive/derive-leased.ts';
import { openQueryRetry } from '../../../../core/engine/derive/query-retry.ts';
import { openPrecedence } from '../../../../core/engine/precedence.ts';
import { openLargeTranscripts } from '../../../../core/engine/transcript/large-transcripts.ts';
import { noReadings } from '../../../../core/engine/transcript/recent-readings.ts';
import { openBackoff } from '../../../../core/retry.ts';
import { answer, user } from '../../../support/call-turn.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { testApi } from '../../../support/read-api.ts';
import { journalCall, storeCalls } from '../../../support/stored-calls.ts';

type LogLine = { level: number; msg: string };

databaseSuite('a lease that was lost', (test, database) => {
  test.before.each(() => database().reset());

  /** What is logged of a pass that has lost its lease to `meanwhile`, beside the line of each pass. */
  async function logOf(meanwhile: (lease: Lease) => Promise<unknown>): Promise<LogLine[]> {
    await storeCalls(database(), [
      journalCall('s', { at: 0, call_id: 'c1', says: [user('Hi')], answers: answer('Ok') }),
    ]);
    const [lease] = await database().execute('leaseDirty', { limit: 1, background: true, lease_ms: -1 });
    if (!lease) throw new Error('Cannot derive: no session is due');
    await meanwhile(lease);
    const lines: LogLine[] = [];
    const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const { signal } = new AbortController();
    const deps: LeasedDeps = {
      ...{ database: database(), reader: builtIn, log, signal, metrics: { derived: () => {} } },
      ...{ precedence: openPrecedence(database()), withRetry: openQueryRetry(log, signal) },
      outage: { began: false, backoff: openBackoff({ firstMs: 1, maxMs: 1 }) },
      largeTranscripts: openLargeTranscripts(database(), 1),
      readings: noReadings,
    };
    await deriveLeased(deps, lease);
    return lines.filter(({ msg }) => msg !== 'derived').map(({ level, msg }) => ({ level, msg }));
  }

  test('another worker has it: a warning', async () => {
    const taken = () => database().execute('leaseDirty', { limit: 1, background: true, lease_ms: 60_000 });
    assert.equal(await logOf(taken), [
      { level: 40, msg: 'the lease of a session was lost: another worker has it, or it is to be derived anew' },
    ]);
  });

  test('it was purged: no warning', async () => {
    const api = testApi({ execute: database().execute });
    const purged = async ({ session_id }: Lease) =>
      assert.is((await api.request(`/v1/admin/sessions/${session_id}/purge`, { method: 'POST' })).status, 200);
    assert.equal(await logOf(purged), [{ level: 20, msg: 'a session was removed while it was derived' }]);
  });
});
