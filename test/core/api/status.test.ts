/** The status as an operator's tools read it: by the contract, with what waits, what was given up and how requests ended. */
import * as assert from 'uvu/assert';
import { z } from 'zod';
import { readContract } from '../../../core/api/app.ts';
import { DERIVE_VERSION } from '../../../core/derive/version.ts';
import { Outcome } from '../../../core/model/coverage.ts';
import { Status } from '../../../core/model/status.ts';
import { answer, user } from '../../support/call-turn.ts';
import { databaseSuite } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { indexAll } from '../../support/index-all.ts';
import { idOf, insertSessions } from '../../support/projection-rows.ts';
import { type Json, testApi } from '../../support/read-api.ts';
import { journalCall, storeCalls } from '../../support/stored-calls.ts';

databaseSuite('status of the read API', (test, database) => {
  const get = async (given: Parameters<typeof testApi>[0] = {}): Promise<Json> => {
    const response = await testApi({ execute: database().execute, ...given }).request('/v1/admin/status');
    assert.is(response.status, 200);
    return response.json();
  };
  const strict = (document: Json) => {
    const { success, error } = z.strictObject(Status.shape).safeParse(document);
    assert.ok(success, error?.message);
  };

  test.before.each(() => database().reset());

  test('the contract shows an example, and it is what the schema promises', () => {
    const { components, paths } = readContract('0') as Json;
    assert.is(paths['/v1/admin/status'].get.operationId, 'readStatus');
    assert.is(components.schemas.Status.examples.length, 1);
    for (const example of components.schemas.Status.examples) strict(example);
  });

  test('an empty service: every outcome is 0, and what there is not is absent', async () => {
    const status = await get();
    strict(status);
    assert.is(status.version, '0.0.0');
    assert.is(status.database.kind, database().kind);
    assert.equal(status.derive, { queued: 0, parked: 0, lag_seconds: 0, derive_version: DERIVE_VERSION });
    assert.equal(status.coverage, {
      requests: 0,
      outcomes: Object.fromEntries(Outcome.options.map((outcome) => [outcome, 0])),
    });
    assert.not('journal' in status);
    assert.not('last_turn_at' in status);
  });

  test('uptime counts from when the API was made; the journal is told where there is one', async () => {
    let clock = Date.parse('2026-07-27T10:00:00Z');
    const app = testApi({
      execute: database().execute,
      now: () => clock,
      journal: () => ({ bytes: 4_711, oldest_seconds: 12.5 }),
    });
    clock += 90_500;
    const status: Json = await (await app.request('/v1/admin/status')).json();
    strict(status);
    assert.is(status.uptime_seconds, 90.5);
    assert.equal(status.journal, { bytes: 4_711, oldest_seconds: 12.5 });
  });

  test('the size is that of database and journal, and its growth what the measurements of days show', async () => {
    const fresh = await get();
    const wal = fresh.disk.bytes - fresh.database.bytes;
    assert.ok(database().kind === 'server' ? wal === 0 : wal >= 1_048_576, `${wal} bytes of write-ahead log`);
    assert.equal(fresh.disk, { bytes: fresh.disk.bytes, by_day: [] });
    await database().execute('recordSize', {});
    await database().execute('recordSize', {}); // within the hour
    const [measured, ...others] = await database().sql('select bytes from svc.database_sizes');
    assert.ok(Number(measured?.bytes) > 1_000_000);
    assert.equal(others, []);
    await database().sql(`insert into svc.database_sizes (measured_at, bytes) values
      (now() - interval '40 days', 1), (now() - interval '4 days', 1000), (now() - interval '90 minutes', 2000)`);
    await database().sql(
      "update svc.database_sizes set measured_at = now() - interval '61 minutes' where bytes > 2000",
    );
    await database().execute('recordSize', {}); // an hour later, and the oldest is forgotten
    const all = await database().sql('select bytes from svc.database_sizes order by measured_at');
    assert.equal([all.length, Number(all[0]?.bytes)], [4, 1000]);
    const { disk, database: itself } = await get({
      journal: () => ({ bytes: 7, oldest_seconds: 0 }),
      freeBytes: async () => 1_000_000_000,
      now: Date.now,
    });
    assert.ok(disk.bytes >= itself.bytes + 7);
    assert.ok(Math.abs(disk.growth_bytes_per_day / ((itself.bytes - 1000) / 4) - 1) < 0.01);
    assert.ok(Math.abs(disk.days_left / (1_000_000_000 / disk.growth_bytes_per_day) - 1) < 0.01);
    assert.is(disk.by_day.at(-1).bytes, 1000);
    strict(await get());
  });

  test('coverage adds up over days and providers', async () => {
    await database().sql(`insert into svc.coverage (day, provider, outcome, requests) values
      ('2026-07-26', 'anthropic', 'captured', 5000000000), ('2026-07-27', 'openai', 'captured', 2),
      ('2026-07-27', 'anthropic', 'poison', 1)`);
    const { coverage } = await get();
    assert.is(coverage.requests, 5_000_000_003);
    assert.is(coverage.outcomes.captured, 5_000_000_002);
    assert.is(coverage.outcomes.poison, 1);
  });

  test('the index of texts: how many spans it has of those that there are', async () => {
    assert.equal((await get()).find, { spans: 0, spans_indexed: 0 });
    await storeCalls(database(), [journalCall('s', { at: 1, says: [user('Look')], answers: answer('Here') })]);
    await deriveAll(database());
    assert.equal((await get()).find, { spans: 2, spans_indexed: 0 });
    await indexAll(database());
    const status = await get();
    strict(status);
    assert.equal(status.find, { spans: 2, spans_indexed: 2 });
  });

  test('what waits and what was given up: the lag is that of the queued, a parked session has its error', async () => {
    await insertSessions(database(), [
      { n: 1, turn_count: 1, last_seen_at: '2026-07-27T09:00:00Z' },
      { n: 2, turn_count: 1 },
    ]);
    await database().sql(
      `insert into svc.derive_queue (session_id, dirtied_at, attempts, error, parked_at) values
       ($1::uuid, now() - interval '40 seconds', 0, null, null), ($2::uuid, now() - interval '1 day', 8, 'RangeError', now())`,
      [idOf('session', 1), idOf('session', 2)],
    );
    await database().sql(`
      insert into svc.parked_turns (svc_proxy_request_id, reason, head, request_body, response_body)
      values ('r-1', 'TypeError', '{"url": "/secret"}', 'a prompt', 'an answer')`);
    const status = await get();
    strict(status);
    assert.is(status.derive.queued, 1);
    assert.is(status.derive.parked, 1);
    assert.ok(status.derive.lag_seconds >= 40 && status.derive.lag_seconds < 3_600, `${status.derive.lag_seconds} s`);
    assert.is(status.parked_sessions.length, 1);
    assert.is(status.parked_sessions[0].session_id, idOf('session', 2));
    assert.is(status.parked_sessions[0].error, 'RangeError');
    assert.is(status.parked_turns.newest[0].bytes, 'a prompt'.length + 'an answer'.length);
    assert.not.match(JSON.stringify(status), /prompt|answer"|secret/);
  });

  test('it is asked for the token like everything else', async () => {
    const response = await testApi({ execute: database().execute, token: 'open-sesame' }).request('/v1/admin/status');
    assert.is(response.status, 401);
  });
});
