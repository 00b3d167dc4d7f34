import { v7 } from 'uuid';
import * as assert from 'uvu/assert';
import { seedDemoApp } from '../../../core/api/seed-demo.ts';
import { builtIn } from '../../../core/call/reader.ts';
import { runDeriveWorker } from '../../../core/engine/derive/derive-worker.ts';
import { openIngest } from '../../../core/engine/ingest/ingest-writer.ts';
import { openLog } from '../../../core/log.ts';
import { Seeded } from '../../../core/model/demo.ts';
import type { IngestVerdict } from '../../../core/model/ingest.ts';
import { Problem } from '../../../core/model/problem.ts';
import { databaseSuite, type TestDatabase } from '../../support/databases.ts';
import { type Json, testApi } from '../../support/read-api.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const PATH = '/v1/admin/seed/demo';
/** The sessions that are runs of an agent; the others are scripted. */
const RUNS = ['summer-timetable', 'night-run', 'night-run-fares-only', 'fare-report', 'strange-page'];
const ALL = { sessions: 12, raw_turns: 98, raw_turns_inserted: 98, raw_turns_deduped: 0 };

/** What stands in every table of `svc`, row by row. */
async function dump(database: TestDatabase): Promise<Record<string, unknown[]>> {
  const tables = await database.sql(`select tablename from pg_tables where schemaname = 'svc' order by 1`);
  const dumped: Record<string, unknown[]> = {};
  for (const { tablename } of tables)
    dumped[String(tablename)] = (
      await database.sql(`select to_jsonb(t)::text as row from svc.${tablename} t order by 1`)
    ).map(({ row }) => row);
  return dumped;
}

databaseSuite('POST /v1/admin/seed/demo', (test, database) => {
  const log = openLog('silent');
  const stopping = new AbortController();
  let append: (body: Uint8Array) => Promise<IngestVerdict>;
  let empty: () => Promise<void>;
  let stopped: Promise<void>;

  test.before(async () => {
    const { identity_key } = await database().execute('installation', {});
    const metrics = { derived: () => {}, derivePending: () => {}, intakeTurn: () => {}, notCaptured: () => {} };
    const parts = { database: database(), reader: builtIn, log, metrics };
    const worker = runDeriveWorker({ ...parts, signal: stopping.signal, pollMs: 50 });
    const identityKey = Buffer.from(identity_key, 'hex');
    empty = async () => {
      await worker.drained();
      await database().reset();
      const ingest = openIngest({ ...parts, identityKey, newId: v7, committed: worker.poke }); // the old one knows slices
      append = (body) => ingest.append(body, null);
    };
    stopped = worker.stopped;
    await empty();
  });
  test.after(async () => {
    stopping.abort();
    await stopped;
  });

  const api = (now = NOW) => testApi({ execute: database().execute, append, now: () => now });
  const seed = async (now = NOW): Promise<Seeded> => {
    const response = await api(now).request(PATH, { method: 'POST' });
    assert.is(response.status, 200, await response.clone().text());
    return Seeded.parse(await response.json());
  };
  const get = async (path: string): Promise<Json> => {
    const response = await api().request(path);
    assert.is(response.status, 200, path);
    return response.json();
  };

  test('the sessions can be read as soon as it has answered', async () => {
    assert.equal(await seed(), ALL);
    const { items: all } = await get('/v1/sessions');
    const items = all.filter(({ name }: Json) => !RUNS.includes(name));
    assert.equal(
      items.map(({ display_title, rollup, harness_id, name, harness_metadata, raw_turn_count, live }: Json) => [
        display_title,
        [harness_id, name, rollup.status, rollup.turn_count, raw_turn_count],
        [rollup.model, rollup.usage.input_tokens, rollup.usage.cache_read_tokens, rollup.usage.output_tokens],
        rollup.usage.cost_usd,
        [rollup.tool_result_count, rollup.tool_error_count, rollup.has_git_activity],
        [harness_metadata, live],
      ]),
      [
        [
          "The test 'departs today' fails on CI about once a week, always late in the evening. Find out why and fix it.",
          ['claude', 'flaky-midnight-test', 'completed', 2, 12],
          ['claude-sonnet-4-6', 163125, 147466, 864],
          0.11588805,
          [10, 1, true],
          [{ demo: true }, false],
        ],
        [
          'Our weather client gives up at the first 429 answer. How should it retry?',
          ['notebook', 'weather-retry', 'completed', 2, 5],
          ['qwen2.5-coder:14b', 3132, 0, 552],
          null,
          [3, 0, false],
          [{ demo: true }, false],
        ],
        [
          'The release of 2.14.0 fails its health checks in production. Bring us back first, then tell me what happened.',
          ['opencode', 'release-rollback', 'completed', 2, 8],
          ['gpt-4.1', 62042, 53248, 699],
          0.049804,
          [8, 0, false],
          [{ demo: true }, false],
        ],
        [
          'GET /departures takes four seconds for the harbour Skala. For all others it is quick. Why?',
          ['codex', 'slow-departures', 'completed', 2, 7],
          ['gpt-5.1-codex', 72642, 61184, 757],
          0.0295405,
          [6, 0, false],
          [{ demo: true }, false],
        ],
        [
          'My grid of departure cards runs off the right edge on narrow phones. It has grid-template-columns: repeat(3, 1fr). How d',
          ['unknown', undefined, 'completed', 4, 4],
          ['gpt-4o-mini', 1122, 0, 463],
          0.0004461,
          [0, 0, false],
          [{ demo: true }, false],
        ],
        [
          'The import of data/passengers-2026-11.csv stops at line 1318. Import what is good, and give me a list of what is not.',
          ['claude', 'passenger-import', 'completed', 2, 9],
          ['claude-haiku-4-5-20251001', 131444, 116230, 796],
          0.0346115,
          [8, 0, false],
          [{ demo: true }, false],
        ],
        [
          'The notification worker grows by 80 MB an hour until it is killed. Find the leak.',
          ['claude', 'notification-memory', 'failed', 1, 5],
          ['claude-opus-4-6', 56414, 41990, 282],
          0.118175,
          [4, 0, false],
          [{ demo: true }, false],
        ],
      ],
    );
  });

  test('a second call, whenever it comes, changes nothing in any table', async () => {
    await seed();
    const before = await dump(database());
    assert.equal(await seed(NOW + 5 * 3_600_000), { ...ALL, raw_turns_inserted: 0, raw_turns_deduped: 98 });
    assert.equal(await dump(database()), before);
  });

  test('an overloaded provider, the retry, a failed tool and the last word are told', async () => {
    await seed();
    const { items } = await get('/v1/sessions');
    const named = (name: string) => items.find((item: Json) => item.name === name).id;
    const { traces, links } = await get(`/v1/sessions/${named('flaky-midnight-test')}/traces`);
    assert.equal(
      traces.map(({ trace }: Json) => [trace.user_prompt, trace.status, trace.response_preview.slice(0, 31)]),
      [
        [
          "The test 'departs today' fails on CI about once a week, always late in the evening. Find out why and fix it.",
          'ok',
          'Found and fixed. `departuresTod',
        ],
        ['Good. Add a test that would have caught it, and commit.', 'ok', 'Committed as `4be21c7`. The new'],
      ],
    );
    const spans = traces.flatMap((trace: Json) => trace.spans);
    const bad = spans.filter(({ status }: Json) => status !== 'ok');
    assert.equal(
      bad.map(({ kind, name, status, error_type }: Json) => [kind, name, status, error_type]),
      [
        ['llm', 'claude-sonnet-4-6', 'error', 'overloaded_error'],
        ['tool', 'Bash', 'error', 'tool_error'],
      ],
    );
    const [overloaded] = bad;
    const [retry] = links.filter(({ kind }: Json) => kind === 'retry-of');
    assert.is(retry?.to_span_id, overloaded.span_id, 'the retry is linked to the call that failed');
    assert.not(retry?.from_span_id === retry?.to_span_id);

    const leak = await get(`/v1/sessions/${named('notification-memory')}/traces`);
    const last = leak.traces.at(-1).spans.findLast(({ kind }: Json) => kind === 'llm');
    assert.equal([last.status, last.error_type], ['error', 'invalid_request_error']);
    assert.match(last.error_message, /\w+ \w+ \w+/, 'what the provider said');
  });

  test('the runs show sub-agents, permission checks, a compaction, a fork and what an agent did with hostile text', async () => {
    await seed();
    const { items } = await get('/v1/sessions');
    const runs = items.filter(({ name }: Json) => RUNS.includes(name));
    assert.equal(
      Object.fromEntries(
        runs.map(({ name, rollup, raw_turn_count }: Json) => [
          name,
          [rollup.status, rollup.turn_count, raw_turn_count, rollup.tool_result_count, rollup.tool_error_count],
        ]),
      ),
      {
        'summer-timetable': ['completed', 4, 16, 14, 0],
        'night-run': ['completed', 1, 19, 10, 1],
        'night-run-fares-only': ['completed', 1, 3, 2, 0],
        'fare-report': ['completed', 4, 8, 4, 0],
        'strange-page': ['completed', 1, 2, 2, 0],
      },
    );
    const named = (name: string) => runs.find((run: Json) => run.name === name);
    assert.is(named('night-run-fares-only').fork_of_session_id, named('night-run').id);
    assert.is(named('night-run').rollup.title, 'Booking page and fares before the release');
    const kinds = async (name: string) => {
      const { links } = await get(`/v1/sessions/${named(name).id}/traces?payload=preview`);
      return links.map(({ kind }: Json) => kind).filter((kind: string) => kind !== 'emits' && kind !== 'feeds');
    };
    assert.equal((await kinds('night-run')).sort(), [
      ...Array(3).fill('rejoin'),
      ...Array(3).fill('retry-of'),
      'verdict',
      'verdict',
    ]);
    assert.equal(await kinds('summer-timetable'), ['compaction-seam']);
    assert.equal(await kinds('night-run-fares-only'), ['fork-of']);
  });

  test('every trace ends with what its model said last, and no tool is left without a result', async () => {
    await seed();
    const { items } = await get('/v1/sessions');
    for (const { id, display_title } of items) {
      const { traces } = await get(`/v1/sessions/${id}/traces?payload=full`);
      for (const { trace, spans } of traces) {
        const isOpened = trace.user_prompt.length > 10 || trace.synthetic === 'post-compaction';
        assert.ok(isOpened && trace.response_preview.length > 10, display_title);
        for (const span of spans)
          if (span.kind === 'tool')
            assert.ok(span.ended_at && span.output.length === 1, `${display_title}: ${span.name}`);
      }
    }
  });

  test('the one model without a price is named, and costs nothing that is known', async () => {
    await seed();
    const stats = await get('/v1/stats');
    assert.equal(stats.unpriced_models, ['qwen2.5-coder:14b']);
    assert.is(stats.session_count, 12);
    const { items } = await get('/v1/sessions');
    const sum = items.reduce((usd: number, { rollup }: Json) => usd + (rollup.usage.cost_usd ?? 0), 0);
    assert.ok(sum > 0.348 && Math.abs(stats.total_cost - sum) < 1e-9, `${stats.total_cost} and ${sum}`);
  });

  test('where nothing can be stored now it says so, with when to ask again', async () => {
    const app = testApi({
      execute: database().execute,
      append: async () => ({ kind: 'unavailable', error: 'Cannot keep it' }),
    });
    const response = await app.request(PATH, { method: 'POST' });
    assert.is(response.status, 503);
    assert.is(response.headers.get('retry-after'), '1');
  });

  test('it waits for derivation, and not for ever', async () => {
    const polls: string[][] = [];
    const app = (waitMs: number, derivedAt: number) =>
      seedDemoApp({
        append,
        derived: async (sessionIds) => polls.push(sessionIds) >= derivedAt,
        now: () => NOW,
        waitMs,
      });
    assert.is((await app(60_000, 3).request(PATH, { method: 'POST' })).status, 200);
    assert.is(polls.length, 3);
    assert.is(new Set(polls[0]).size, 12);
    const later = await app(120, Number.POSITIVE_INFINITY).request(PATH, { method: 'POST' });
    assert.is(later.status, 202);
    assert.equal(await later.json(), { ...ALL, raw_turns_inserted: 0, raw_turns_deduped: 98 });
  });

  test('what is missing is added, and turns that others sent meanwhile stay as they are', async () => {
    await empty();
    const { demoTurns } = await import('../../../core/demo/turns.ts');
    const body = (turn: unknown) => new TextEncoder().encode(JSON.stringify(turn));
    const [first] = demoTurns(new Date(NOW));
    await append(body(first));
    const own = {
      provider: 'openai',
      request: { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Is anybody there?' }] },
      response: { message: { role: 'assistant', content: [{ type: 'text', text: 'Yes' }] }, stop_reason: 'stop' },
      session: { harness_id: 'mine', harness_session_id: 'one' },
      meta: { request_id: 'mine-1' },
    };
    const verdict = await append(body(own));
    assert.is(verdict.kind, 'accepted');
    assert.equal(await seed(), { ...ALL, raw_turns_inserted: 97, raw_turns_deduped: 1 });
    const { items } = await get('/v1/sessions');
    assert.is(items.length, 13);
    const mine = items.find(({ harness_id }: Json) => harness_id === 'mine');
    assert.equal([mine.display_title, mine.raw_turn_count], ['Is anybody there?', 1]);
  });

  test('a body may be left out or empty; what it may not say is refused, and nothing is stored', async () => {
    await empty();
    const post = (body: string, type = 'application/json') =>
      api().request(PATH, { method: 'POST', body, headers: { 'content-type': type } });
    const cases: [body: string, type: string | undefined, status: number, says: RegExp][] = [
      ['{"overwrite":true}', undefined, 400, /^Cannot overwrite the demo sessions: raw turns are append-only/],
      ['{"force":true}', undefined, 400, /force/],
      ['{"overwrite":"no"}', undefined, 400, /overwrite/],
      ['[]', undefined, 400, /^Cannot read the body/],
      ['{', undefined, 400, /malformed/],
      ['{}', 'text/plain', 415, /content type/],
      [`{"force":"${'x'.repeat(5000)}"}`, undefined, 413, /too large/],
    ];
    for (const [body, type, status, says] of cases) {
      const response = await post(body, type);
      assert.is(response.status, status, body.slice(0, 40));
      assert.match(Problem.parse(await response.json()).error, says);
    }
    assert.equal(await database().sql('select count(*)::int as n from svc.raw_turns'), [{ n: 0 }]);
    for (const body of ['', '{}', '{"overwrite":false}']) assert.is((await post(body)).status, 200, body);
  });
});
