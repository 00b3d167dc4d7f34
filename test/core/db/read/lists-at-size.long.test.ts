/** How does the database walk a list of fifty thousand sessions? By the index of its order, whatever the page; never by sorting. */
import { sql } from 'drizzle-orm';
import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import { newestTranscriptIn } from '../../../../core/db/derive/transcript-files.ts';
import { browseSessions } from '../../../../core/db/read/browse-sessions.ts';
import { listRawTurns } from '../../../../core/db/read/list-raw-turns.ts';
import { listSessions } from '../../../../core/db/read/list-sessions.ts';
import { listTraces } from '../../../../core/db/read/list-traces.ts';
import { linksOf, spansOf } from '../../../../core/db/read/session-traces.ts';
import type { SessionFilter } from '../../../../core/model/browse.ts';
import { databaseSuite, type TestDatabase } from '../../../support/databases.ts';
import { idOf } from '../../../support/projection-rows.ts';
import { explained, nodesOf, type QueryPlan, readRows, shown } from '../../../support/query-plan.ts';

const SESSIONS = 50_000;
const LIMIT = 50;
const TURNS = 20_000; // of two sessions; every tenth was corrected from the one to the other
const MIDDLE = idOf('session', 25_000);
const STEPS = 20_000; // of one trace, each linked to the next
const LONG = 6; // whose session and trace these are

const every: SessionFilter = {
  text: null,
  project: null,
  agent_name: null,
  model: null,
  provider: null,
  harness_id: null,
  harness_session_id: null,
  status: null,
  parent_session_id: null,
  fork_of_session_id: null,
  starred: null,
  since: null,
  until: null,
};

/** Of each order the index, and a place in the middle. */
const ORDERS = [
  ['last_active', 'sessions_last_seen_at', '2026-06-01T00:00:00.000000Z'],
  ['started_at', 'sessions_started_at', '2026-06-01T00:00:00.000000Z'],
  ['duration', 'sessions_duration', '500000000'],
  ['turn_count', 'session_totals_turn_count', '250'],
  ['total_tokens', 'session_totals_tokens', '50000'],
  ['total_cost', 'session_totals_cost_', '0.25'],
] as const;

const define = (test: Test, database: () => TestDatabase): void => {
  test.before(() => fill(database()));

  for (const [sort, index, place] of ORDERS)
    for (const direction of ['desc', 'asc'] as const)
      for (const after of [null, { place, id: MIDDLE }])
        test(`browsing by ${sort} ${direction}${after ? ', from the middle' : ''} walks its index`, async () => {
          const browse = { filter: every, sort, direction, after, limit: LIMIT };
          const name = sort === 'total_cost' ? index + direction : index;
          walks(await explained(database(), (db) => browseSessions(db, browse)), name);
        });

  test('the list of sessions walks its index', async () => {
    for (const after of [null, { last_seen_at: '2026-06-01T00:00:00.000000Z', id: MIDDLE }])
      walks(await explained(database(), (db) => listSessions(db, { after, limit: LIMIT })), 'sessions_last_seen_at');
  });

  test('the list of traces walks its index, of all sessions as of one', async () => {
    for (const session_id of [null, MIDDLE])
      for (const after of [null, { started_at: '2026-06-01T00:00:00.000000Z', trace_id: idOf('trace', 25_000) }])
        walks(
          await explained(database(), (db) => listTraces(db, { session_id, after, limit: LIMIT })),
          session_id === null ? 'traces_started_at' : 'traces_session',
        );
  });

  test('the records of a session come from two lists, each cut out of its index', async () => {
    for (const session of [1, 2])
      for (const after of [null, TURNS / 2]) {
        const list = { session_id: idOf('session', session), after, limit: LIMIT };
        const plan = await explained(database(), (db) => listRawTurns(db, list));
        const indexes = nodesOf(plan).map((node) => node['Index Name']);
        for (const index of ['raw_turns_session', 'raw_turn_corrections_order'])
          assert.ok(indexes.includes(index), `${index}: ${shown(plan)}`);
        for (const node of nodesOf(plan)) {
          assert.not.match(node['Node Type'], /Hash|Merge Join|Seq Scan/, shown(plan));
          if (/Sort/.test(node['Node Type'])) assert.ok(node['Actual Rows'] <= 2 * (LIMIT + 1), shown(plan));
        }
        assert.ok(readRows(plan) <= 16 * LIMIT, `${readRows(plan)} rows: ${shown(plan)}`);
      }
  });

  test('the steps of a long trace come a page at a time, from any place, whoever asks', async () => {
    const trace_id = idOf('trace', LONG);
    const middle = { started_at: '2026-04-01T00:12:00.000000Z', trace_id, seq: STEPS / 2, span_id: idOf('span', 0) };
    for (const of of [{ session_id: idOf('session', LONG) }, { trace_id }]) {
      const plan = await explained(database(), (db) =>
        spansOf(db, { of, after: middle, limit: LIMIT, payload: 'full' }),
      );
      assert.ok(
        nodesOf(plan).some((node) => node['Index Name'] === 'spans_order'),
        shown(plan),
      );
      assert.ok(readRows(plan) <= 4 * LIMIT, `${readRows(plan)} rows: ${shown(plan)}`);
      assert.is(plan['Actual Rows'], LIMIT + 1, 'and all of the page is there');
    }
  });

  test('the links of a session or a trace come in the order of an index', async () => {
    const [trace_id, span_id] = [idOf('trace', LONG), idOf('span', STEPS / 2)];
    const after = {
      ...{ kind: 'feeds' as const, from_trace_id: trace_id, from_span_id: span_id },
      ...{ to_trace_id: trace_id, to_span_id: span_id },
    };
    for (const [of, index] of [
      [{ session_id: idOf('session', LONG) }, 'span_links_pkey'],
      [{ trace_id }, 'span_links_pkey'],
    ] as const)
      for (const place of [null, after]) {
        const plan = await explained(database(), (db) => linksOf(db, { of, after: place, limit: LIMIT }));
        const indexes = nodesOf(plan).map((node) => node['Index Name']);
        assert.ok(indexes.includes(index), `${index}: ${shown(plan)}`);
        assert.ok(readRows(plan) <= 4 * LIMIT, `${readRows(plan)} rows: ${shown(plan)}`);
        assert.is(plan['Actual Rows'], LIMIT + 1, 'and all of the page is there');
      }
  });

  test('what leads to a trace from elsewhere is found among its thousands of own links', async () => {
    const after = {
      ...{ kind: 'feeds' as const, from_trace_id: idOf('trace', LONG), from_span_id: idOf('span', STEPS) },
      ...{ to_trace_id: idOf('trace', LONG), to_span_id: idOf('span', STEPS) },
    };
    const of = { trace_id: idOf('trace', LONG) };
    const plan = await explained(database(), (db) => linksOf(db, { of, after, limit: LIMIT }));
    assert.is(plan['Actual Rows'], 3, shown(plan));
    assert.ok(readRows(plan) <= LIMIT, `${readRows(plan)} rows: ${shown(plan)}`);
  });

  test('whether a session has a transcript is told by their index, not by its calls', async () => {
    for (const session of [1, 2, 3]) {
      const plan = await explained(database(), (db) =>
        db.rows(sql`select ${newestTranscriptIn(idOf('session', session))} as newest`),
      );
      const indexes = nodesOf(plan).map((node) => node['Index Name'] ?? '');
      assert.ok(indexes.includes('raw_turns_transcripts'), shown(plan));
      assert.ok(readRows(plan) < 10, shown(plan));
      for (const node of nodesOf(plan)) assert.not.match(node['Node Type'], /Seq Scan/, shown(plan));
    }
  });

  test('an attribute that many sessions have is met on the way', async () => {
    for (const common of [
      { status: ['completed' as const] },
      { harness_id: 'claude-code' },
      { provider: 'anthropic' },
      { project: 'project-1' },
    ]) {
      const browse = { filter: { ...every, ...common }, sort: 'last_active', direction: 'desc', after: null } as const;
      const plan = await explained(database(), (db) => browseSessions(db, { ...browse, limit: LIMIT }));
      walks(plan, 'sessions_last_seen_at', 40 * LIMIT);
    }
  });

  test('an attribute that few sessions have is found by its index', async () => {
    for (const [rare, index] of [
      [{ project: 'rare' }, 'session_rollups_project'],
      [{ agent_name: 'rare' }, 'session_rollups_agent_name'],
      [{ model: 'rare' }, 'spans_model'],
      [{ provider: 'rare' }, 'spans_provider'],
    ] as const) {
      const browse = { filter: { ...every, ...rare }, sort: 'last_active', direction: 'desc', after: null } as const;
      const plan = await explained(database(), (db) => browseSessions(db, { ...browse, limit: LIMIT }));
      assert.ok(
        nodesOf(plan).some((node) => node['Index Name'] === index),
        `${index}: ${shown(plan)}`,
      );
      assert.ok(readRows(plan) < 1_000, shown(plan));
    }
  });

  test("a session is found by its harness's id by their index, with the harness or without", async () => {
    for (const harness of [{}, { harness_id: 'codex' }]) {
      const filter = { ...every, harness_session_id: 'session 25001', ...harness };
      const browse = { filter, sort: 'last_active', direction: 'desc', after: null, limit: 1 } as const;
      const plan = await explained(database(), (db) => browseSessions(db, browse));
      assert.is(plan['Actual Rows'], 1, shown(plan));
      const indexes = nodesOf(plan).map((node) => node['Index Name']);
      assert.ok(indexes.includes('sessions_harness_id_harness_session_id_key'), shown(plan));
      assert.not(indexes.includes('sessions_last_seen_at'), shown(plan));
      assert.ok(readRows(plan) < 2_000, shown(plan)); // the edits are so few that all are read
    }
  });

  test('words are found by their indexes, wherever they stand', async () => {
    for (const sort of ['last_active', 'total_cost'] as const) {
      const filter = { ...every, text: ['rarit', 'Needle'] };
      const browse = { filter, sort, direction: 'desc', after: null, limit: LIMIT } as const;
      const plan = await explained(database(), (db) => browseSessions(db, browse));
      const used = new Set(nodesOf(plan).map((node) => node['Index Name']));
      for (const index of ['traces_words', 'session_rollups_words'])
        assert.ok(used.has(index), `${index}: ${shown(plan)}`);
      assert.ok(readRows(plan) < 1_000, shown(plan));
    }
  });
};
databaseSuite('lists at size', define, { statementTimeoutMs: 600_000, readsPlans: true }); // filling the tables is one statement each

/** Sessions two minutes apart, a trace and a call each; every hundredth has no rollup, every tenth no known cost. */
async function fill(database: TestDatabase): Promise<void> {
  const id = (digit: number) => `(${digit}::text || lpad(to_hex(n), 7, '0') || '-0000-4000-8000-000000000000')::uuid`;
  const started = `'2026-04-01T00:00:00Z'::timestamptz + n * interval '2 minutes'`;
  const each = `generate_series(0, ${SESSIONS - 1}) n`;
  const rare = `n % 5000 = 77`;
  for (const statement of [
    `insert into svc.sessions (session_id, harness_id, harness_session_id, client_key, started_at, last_seen_at)
     select ${id(5)}, (array['claude-code', 'codex'])[1 + n % 2], 'session ' || n, '', ${started},
            ${started} + (n * 7919 % 1000) * interval '1 second' from ${each}`,
    `insert into svc.session_rollups (session_id, derive_version, project, agent_name, status, title, trace_count,
                                      input_tokens, cost_usd, model_usage)
     select ${id(5)}, 1, case when ${rare} then 'rare' else 'project-' || n % 10 end,
            case when ${rare} then 'rare' else 'ada' end, (array['completed', 'failed'])[1 + n % 2],
            case when ${rare} then 'A rarity' else 'Fix the adder ' || n end, n * 7919 % 500, n * 7919 % 100000,
            (n * 7919 % 500) / 1000.0, case when n % 10 = 0 then '[]' else '[{"cost_usd":"0"}]' end::jsonb
       from ${each} where n % 100 <> 0`,
    `insert into svc.traces (trace_id, session_id, user_prompt, response_preview, started_at)
     select ${id(7)}, ${id(5)}, 'Look into number ' || n, case when ${rare} then 'a needle' else 'It is done' end, ${started}
       from ${each}`,
    `insert into svc.spans (trace_id, span_id, session_id, seq, kind, name, model, provider, started_at)
     select ${id(7)}, ${id(9)}, ${id(5)}, 0, 'llm', '', case when ${rare} then 'rare' else 'opus' end,
            case when ${rare} then 'rare' else 'anthropic' end, ${started} from ${each}`,
    `insert into svc.spans (trace_id, span_id, session_id, seq, kind, name, started_at)
     select '${idOf('trace', LONG)}'::uuid, ${id(9)}, '${idOf('session', LONG)}'::uuid, n - ${SESSIONS}, 'tool', '', now()
       from generate_series(${SESSIONS + 1}, ${SESSIONS + STEPS}) n`,
    `insert into svc.span_links (session_id, kind, from_trace_id, from_span_id, to_trace_id, to_span_id)
     select '${idOf('session', LONG)}'::uuid, 'feeds', '${idOf('trace', LONG)}'::uuid, ${id(9)},
            '${idOf('trace', LONG)}'::uuid, ${id(9)} from generate_series(1, ${STEPS}) n`,
    `insert into svc.span_links (session_id, kind, from_trace_id, from_span_id, to_trace_id, to_span_id)
     select ${id(5)}, 'feeds', ${id(7)}, ${id(9)}, '${idOf('trace', LONG)}'::uuid, ${id(9)}
       from generate_series(${LONG + 1}, ${LONG + 3}) n`,
    `insert into svc.span_links (session_id, kind, from_trace_id, from_span_id, to_trace_id, to_span_id)
     select ${id(5)}, 'feeds', ${id(7)}, ${id(9)}, ${id(7)}, ${id(9)} from ${each} where n <> ${LONG}`,
    `insert into svc.session_edits (session_id, deleted_at) select ${id(5)}, now() from ${each} where n % 100 = 3`,
    `insert into svc.raw_turns (source, session_id, session_seq, turn_hash, outcome, ending, provider, harness_id,
                                harness_session_id, identity, requested_at, request_pages, request_page_depth, request_bytes,
                                request_digest, response_bytes)
     select 'wire', ('5000000' || 1 + n % 2 || '-0000-4000-8000-000000000000')::uuid, n, '', 'captured', 'complete', '', '', '',
            '{}', now(), '', 0, 0, '', 0 from generate_series(1, ${TURNS}) n`,
    `insert into svc.raw_turn_corrections (raw_turn_id, kind, session_id, reason)
     select raw_turn_id, 'link', ('5000000' || 2 - raw_turn_id % 2 || '-0000-4000-8000-000000000000')::uuid, 'test'
       from svc.raw_turns where raw_turn_id % 10 in (1, 2)`,
    ...[
      ...['sessions', 'session_rollups', 'session_totals', 'traces', 'spans', 'session_edits'],
      ...['raw_turns', 'raw_turn_corrections', 'span_links'],
    ].map((table) => `vacuum (analyze) svc.${table}`),
  ])
    await database.sql(statement);
}

/** The page is cut out of the index; only then, at most, are its few rows joined and put in order again. */
function walks(plan: QueryPlan, index: string, most = 8 * LIMIT): void {
  const page = nodesOf(plan).find((node) => node['Node Type'] === 'Limit');
  if (!page) throw new Error(shown(plan));
  const nodes = nodesOf(page);
  const indexes = nodes.map((node) => node['Index Name']);
  assert.ok(indexes.includes(index), `${index}: ${shown(plan)}`);
  assert.not.ok(
    nodes.some((node) => /Sort|Hash/.test(node['Node Type'])),
    shown(plan),
  );
  assert.ok(readRows(page) <= most, `${readRows(page)} rows: ${shown(plan)}`);
}
