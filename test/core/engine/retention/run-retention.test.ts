/** Retention sweeps by itself, in one process of a database at a time, and reports each sweep that removed something. */
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import * as assert from 'uvu/assert';
import { exclusively } from '../../../../core/engine/exclusively.ts';
import { openPrecedence } from '../../../../core/engine/precedence.ts';
import { runRetention } from '../../../../core/engine/retention/run-retention.ts';
import { openMetrics } from '../../../../core/metrics.ts';
import { capturedCall, chat } from '../../../support/captured-calls.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { deriveAll } from '../../../support/derive-all.ts';
import { ingestBody, testIngest } from '../../../support/ingested-turns.ts';

databaseSuite('runRetention', (test, database) => {
  test('one of two processes sweeps, and logs what it removed; none while a third one holds the lease', async () => {
    const writer = await testIngest(database());
    await writer.append(ingestBody(capturedCall({ n: 1, request: chat('hello') })), null);
    await deriveAll(database());
    await database().sql(`update svc.sessions set last_seen_at = now() - interval '9 days'`);
    const stopping = new AbortController();
    const lines: Record<string, unknown>[] = [];
    const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const metrics = openMetrics('engine');
    const start = () =>
      runRetention({
        database: database(),
        rules: { days: 7, maxBytes: null, projects: new Map(), dryRun: false },
        precedence: openPrecedence(database()),
        pause: () => Promise.resolve(),
        ...{ signal: stopping.signal, log, metrics, firstMs: 1 },
      });
    await exclusively(database().execute, 'retention', stopping.signal, async () => {
      void start();
      await sleep(200);
      assert.equal(lines, []);
    });
    const running = [start(), start()];
    for (let i = 0; lines.length === 0 && i < 200; i++) await sleep(50);
    stopping.abort();
    await Promise.all(running);
    assert.is(lines.length, 1);
    assert.is(lines[0]?.msg, 'retention removed sessions');
    assert.equal([lines[0]?.sessions, lines[0]?.raw_turns], [1, 1]);
    assert.match(await metrics.text(), /^svc_retention_removed_sessions_total 1$/m);
    assert.equal(await database().sql('select 1 from svc.work_leases'), []);
  });
});
