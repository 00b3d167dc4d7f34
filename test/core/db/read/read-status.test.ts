/** What the status says of the database is true, and stays cheap where tables are large. */
import * as assert from 'uvu/assert';
import { isCitus } from '../../../support/citus-cluster.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { idOf, insertSessions } from '../../../support/projection-rows.ts';

const MANY = 1_000_000_000;

databaseSuite('status of the database', (test, database) => {
  const status = (counted_bytes = MANY) => database().execute('readStatus', { counted_bytes });

  test.before.each(() => database().reset());

  test('an empty database holds nothing, and says what it is', async () => {
    const { database: itself, counts, ...rest } = await status();
    assert.is(itself.kind, database().kind);
    assert.match(itself.server_version, /^\d+\.\d+/);
    assert.ok(itself.bytes > 1_000_000, `${itself.bytes} bytes`);
    const { slice_bytes, ...numbers } = counts;
    assert.ok(slice_bytes >= 0 && slice_bytes < itself.bytes);
    assert.equal(numbers, { sessions: 0, raw_turns: 0, nodes: 0, traces: 0, spans: 0, slices: 0 });
    assert.equal(rest, {
      estimated: [],
      parked_sessions: [],
      parked_turns: { count: 0, newest: [] },
      last_turn_at: null,
    });
  });

  test('of the extensions those of interest are told, with what could be installed', async () => {
    const there = await database().sql(`
      select name::text as name, installed_version is not null as installed, default_version
        from pg_available_extensions where name in ('citus', 'citus_columnar', 'pg_duckdb', 'timescaledb', 'vector') order by name`);
    const { extensions } = (await status()).database;
    assert.equal(
      extensions.map(({ name, installed, version }) => ({ name, installed, default_version: version })),
      there,
    );
  });

  test('counts are exact while tables are small', async () => {
    await insertSessions(database(), [
      { n: 1, turn_count: 3, last_seen_at: '2026-07-27T09:00:00.000123Z' },
      { n: 2, turn_count: 4, last_seen_at: '2026-07-27T08:00:00Z' },
      { n: 3, turn_count: 0, last_seen_at: '2026-07-27T10:00:00Z' },
    ]);
    await insertTraces(2, 5);
    await insertSlices(7);
    const { counts, last_turn_at, estimated } = await status();
    const { slice_bytes: _, ...numbers } = counts;
    assert.equal(numbers, { sessions: 3, raw_turns: 7, nodes: 0, traces: 2, spans: 10, slices: 7 });
    assert.equal(estimated, []);
    assert.is(last_turn_at, '2026-07-27T09:00:00.000123Z', 'a session without a turn is not counted');
  });

  test('a large table is estimated and named, and the estimate grows with it before it is analysed again', async () => {
    if (isCitus(process.env.SVC_TEST_DSN ?? '')) return; // a distributed table is counted by all workers at once
    await insertSlices(2_000);
    await database().sql('analyze svc.slices');
    const first = await status(1);
    assert.equal(first.estimated, ['slices']);
    near(first.counts.slices, 2_000);
    await insertSlices(2_000, 10_000);
    const second = await status(1);
    near(second.counts.slices, 4_000);
    assert.is((await status()).counts.slices, 4_000, 'below the bound it is counted');
  });

  test('a table that was never analysed is counted, whatever its size', async () => {
    await insertTraces(1, 3);
    const { counts, estimated } = await status(1);
    assert.is(counts.spans, 3);
    assert.not(estimated.includes('spans'));
  });

  test('parked sessions are told with their error, the newest first and at most twenty; queued ones are not', async () => {
    const ns = Array.from({ length: 23 }, (_, i) => i + 1);
    await insertSessions(
      database(),
      ns.map((n) => ({ n })),
    );
    for (const n of ns)
      await database().sql(
        `insert into svc.derive_queue (session_id, attempts, error, parked_at)
         values ($1::uuid, 8, $2, case when $3::int = 23 then null else timestamptz '2026-07-27T09:00:00Z' + $3::int * interval '1 second' end)`,
        [idOf('session', n), `Error${n}`, n],
      );
    const { parked_sessions } = await status();
    assert.is(parked_sessions.length, 20);
    assert.equal(parked_sessions[0], {
      session_id: idOf('session', 22),
      harness_id: 'claude-code',
      harness_session_id: 'harness-session-22',
      error: 'Error22',
      attempts: 8,
      parked_at: '2026-07-27T09:00:22.000000Z',
    });
    assert.is(parked_sessions[19]?.error, 'Error3');
  });

  test('parked turns are counted, and the newest told with their size', async () => {
    await database().sql(`
      insert into svc.parked_turns (svc_proxy_request_id, reason, head, request_body, response_body, parked_at)
      select 'request-' || n, 'TypeError', '{}', decode(repeat('ab', 1000), 'hex'), decode(repeat('cd', n), 'hex'),
             timestamptz '2026-07-27T09:00:00Z' + n * interval '1 second'
        from generate_series(1, 25) n`);
    const { count, newest } = (await status()).parked_turns;
    assert.is(count, 25);
    assert.is(newest.length, 20);
    assert.equal(newest[0], {
      svc_proxy_request_id: 'request-25',
      reason: 'TypeError',
      parked_at: '2026-07-27T09:00:25.000000Z',
      bytes: 1_025,
    });
    assert.is(newest[19]?.svc_proxy_request_id, 'request-6');
  });

  const insertSlices = (rows: number, from = 0) =>
    database().sql(
      `insert into svc.slices (slice_id, codec, size_bytes, bytes)
       select sha256(convert_to(n::text, 'UTF8')), 0, 500, convert_to(repeat('b', 500), 'UTF8') from generate_series($1::int + 1, $1::int + $2::int) n`,
      [from, rows],
    );

  const insertTraces = async (traces: number, spans: number) => {
    await database().sql(
      `insert into svc.traces (trace_id, session_id, started_at)
       select ('70000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, $1::uuid, now() from generate_series(1, $2::int) n`,
      [idOf('session', 1), traces],
    );
    await database().sql(
      `insert into svc.spans (trace_id, span_id, session_id, seq, kind, name, started_at)
       select t.trace_id, ('90000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, t.session_id, n, 'llm', 'm', now()
         from svc.traces t, generate_series(1, $1::int) n`,
      [spans],
    );
  };
});

/** Within the last page's worth of rows. */
const near = (estimate: number, rows: number) =>
  assert.ok(Math.abs(estimate - rows) < rows * 0.05, `${estimate} is about ${rows}`);
