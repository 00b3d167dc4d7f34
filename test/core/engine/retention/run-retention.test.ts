/** Retention sweeps by itself, in one process of a database at a time, and reports each sweep that removed something. */
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import pino from 'pino';
import * as assert from 'uvu/assert';
import type { Database } from '../../../../core/db/database.ts';
import { writeBackup } from '../../../../core/engine/backup/write-backup.ts';
import { exclusively } from '../../../../core/engine/exclusively.ts';
import { openPrecedence } from '../../../../core/engine/precedence.ts';
import { runRetention } from '../../../../core/engine/retention/run-retention.ts';
import { openMetrics } from '../../../../core/metrics.ts';
import type { RetentionRules } from '../../../../core/model/retention.ts';
import { capturedCall, chat } from '../../../support/captured-calls.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { deriveAll } from '../../../support/derive-all.ts';
import { ingestBody, testIngest } from '../../../support/ingested-turns.ts';

const RULES: RetentionRules = { days: 7, maxBytes: null, projects: new Map(), dryRun: false };

databaseSuite('runRetention', (test, database) => {
  test.before.each(() => database().reset());

  const store = async () => {
    const writer = await testIngest(database());
    await writer.append(ingestBody(capturedCall({ n: 1, request: chat('hello') })), null);
    await deriveAll(database());
    await database().sql(`update svc.sessions set last_seen_at = now() - interval '9 days'`);
  };

  /** Its log's lines, its metrics, and a way to start it, as often as wanted, with some of its dependencies exchanged. */
  const runner = () => {
    const stopping = new AbortController();
    const lines: Record<string, unknown>[] = [];
    const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const metrics = openMetrics('engine');
    const start = (own: Partial<Parameters<typeof runRetention>[0]> = {}) =>
      runRetention({
        database: database(),
        rules: RULES,
        precedence: openPrecedence(database()),
        pause: () => Promise.resolve(),
        ...{ signal: stopping.signal, log, metrics, firstMs: 1 },
        ...own,
      });
    const sweeps = async () => Number(/^svc_retention_sweeps_total (\d+)$/m.exec(await metrics.text())?.[1]);
    return { stopping, lines, metrics, start, sweeps };
  };

  test('one of two processes sweeps, and logs what it removed; none while a third one holds the lease', async () => {
    await store();
    const { stopping, lines, metrics, start, sweeps } = runner();
    await exclusively(database().execute, 'retention', stopping.signal, async () => {
      void start();
      await sleep(200);
      assert.equal([lines, await sweeps()], [[], 0]);
    });
    const running = [start(), start()];
    for (let i = 0; lines.length === 0 && i < 200; i++) await sleep(50);
    stopping.abort();
    await Promise.all(running);
    assert.is(lines.length, 1);
    assert.is(lines[0]?.msg, 'retention removed sessions');
    assert.equal([lines[0]?.sessions, lines[0]?.raw_turns], [1, 1]);
    assert.match(await metrics.text(), /^svc_retention_removed_sessions_total 1$/m);
    assert.ok((await sweeps()) >= 1);
    assert.equal(await database().sql('select 1 from svc.work_leases'), []);
  });

  test('a sweep that fails has reported and recorded what it removed until then', async () => {
    await store();
    const { stopping, lines, metrics, start, sweeps } = runner();
    const execute = ((name: never, args: never) => {
      if (name === 'collectionDue') throw new Error('interrupted');
      return database().execute(name, args);
    }) as Database['execute'];
    const running = start({ database: { ...database(), execute } });
    for (let i = 0; lines.length < 2 && i < 200; i++) await sleep(50);
    stopping.abort();
    await running;
    assert.equal(
      lines.map(({ msg }) => msg),
      ['retention removed sessions', 'a sweep of retention failed; the next one goes on'],
    );
    assert.equal([lines[0]?.sessions, lines[0]?.raw_turns], [1, 1]);
    assert.match(await metrics.text(), /^svc_retention_removed_turns_total 1$/m);
    const [last] = await database().execute('lastRemovals', {});
    assert.equal([last?.sessions, last?.raw_turns, await sweeps()], [1, 1, 1]);
  });

  test('a sweep that is under way ends at its next step for a backup, which is whole; the next sweep goes on', async () => {
    await store();
    const { stopping, lines, start } = runner();
    const { execute, sql } = database();
    let backup: Promise<Buffer> | null = null;
    const bytesOf = async () => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of writeBackup({ execute, version: 'x' })) chunks.push(chunk);
      return Buffer.concat(chunks);
    };
    const pause = async () => {
      backup ??= bytesOf();
      for (let i = 0; i < 40 && !(await execute('isWorkLeased', { work: 'backup' })); i++) await sleep(50);
    };
    const first = start({ pause, everyMs: 60_000 });
    for (let i = 0; backup === null && i < 200; i++) await sleep(50);
    const bytes = (await backup) as Buffer | null;
    const end = JSON.parse(
      gunzipSync(bytes ?? Buffer.alloc(0))
        .toString()
        .trimEnd()
        .split('\n')
        .at(-1) ?? '',
    );
    assert.equal([end.end, end.rows['svc.raw_turns']], [true, 1]);
    assert.equal(await sql('select count(*)::int as n from svc.raw_turns'), [{ n: 1 }]);
    const next = start();
    for (let i = 0; lines.length === 0 && i < 200; i++) await sleep(50);
    stopping.abort();
    await Promise.all([first, next]);
    assert.is(lines[0]?.msg, 'retention removed sessions');
    assert.equal(await sql('select count(*)::int as n from svc.raw_turns'), [{ n: 0 }]);
    assert.equal(await sql('select 1 from svc.work_leases'), []);
  });

  test('a dry run counts no sweep', async () => {
    await store();
    const { stopping, lines, start, sweeps } = runner();
    const running = start({ rules: { ...RULES, dryRun: true }, everyMs: 20 });
    await sleep(400);
    stopping.abort();
    await running;
    assert.equal([lines, await sweeps()], [[], 0]);
  });

  test('a size that cannot be reached is logged when that begins, and not by each sweep', async () => {
    await store();
    const [row] = await database().sql('select session_id from svc.sessions');
    const starred = (is: boolean) =>
      database().execute('editSession', { session_id: String(row?.session_id), edits: { starred: is } });
    await starred(true);
    const { stopping, lines, start, sweeps } = runner();
    const running = start({ rules: { ...RULES, days: null, maxBytes: 1_000 }, everyMs: 20 });
    for (let i = 0; !((await sweeps()) > 3) && i < 200; i++) await sleep(50);
    assert.equal(
      lines.map(({ msg }) => msg),
      ['the database stays over retention.max_bytes: what is left is starred, kept or goes on'],
    );
    stopping.abort();
    await running;
  });
});
