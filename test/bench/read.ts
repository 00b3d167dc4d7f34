/** How long do reads take when much is stored? Stats over a million nodes, and the list of a hundred thousand sessions. */
import { StatsQuery } from '../../core/model/stats.ts';
import { embeddedDatabase, serverDatabase, type TestDatabase } from '../support/databases.ts';
import { testApi } from '../support/read-api.ts';
import { heading, ms, percentiles, row } from './figures.ts';

const ASKS = 50;
const PART = 1000; // sessions of one insert
const STARTED = '2026-10-01T00:00:00Z'; // and thirty days on

const shapes = [
  { sessions: 20_000, each: 50 },
  { sessions: 100_000, each: 10 },
];

const filters: Record<string, Record<string, string>> = {
  'no filter': {},
  'project=': { project: 'project-3' },
  'agent_name=': { agent_name: 'agent-2' },
  'model=': { model: 'claude-sonnet-4-6' },
  'provider=': { provider: 'openai' },
  'since=': { since: '2026-10-11T13:07:31Z' },
  'until=': { until: '2026-10-21T04:51:02Z' },
  'since= and until=': { since: '2026-10-11T13:07:31Z', until: '2026-10-21T04:51:02Z' },
  'all together': {
    ...{ project: 'project-3', agent_name: 'agent-2', model: 'claude-sonnet-4-6', provider: 'anthropic' },
    ...{ since: '2026-10-11T13:07:31Z', until: '2026-10-21T04:51:02Z' },
  },
};

export async function benchRead(): Promise<void> {
  for (const { sessions, each } of shapes) {
    for (const kind of ['embedded', 'server'] as const) {
      const dsn = process.env.SVC_TEST_DSN;
      if (kind === 'server' && !dsn) {
        row('server', 'SVC_TEST_DSN is not set');
        continue;
      }
      const options = { statementTimeoutMs: 600_000 };
      const database = kind === 'server' ? await serverDatabase(dsn ?? '', options) : await embeddedDatabase(options);
      try {
        await putNodes(database, sessions, each);
        await benchStats(`${kind}: ${sessions} sessions of ${each} nodes`, database);
        if (sessions === 100_000) await benchSessions(kind, database);
      } finally {
        await database.close();
      }
    }
  }
}

async function benchStats(name: string, database: TestDatabase): Promise<void> {
  heading(`Stats, ${name}`);
  const plain = percentiles(await timed(() => database.sql(PLAIN), 5)).p50;
  row('', 'p50', 'p99', 'of plain');
  row('no filter, plain aggregate over the nodes', ms(plain), '-', '1.00');
  for (const [filter, parameters] of Object.entries(filters)) {
    const { p50, p99 } = percentiles(
      await timed(() => database.execute('readStats', StatsQuery.parse(parameters)), ASKS),
    );
    row(filter, ms(p50), ms(p99), (p50 / plain).toFixed(2));
  }
}

/** The same numbers without the cells. */
const PLAIN = `
  select count(distinct n.session_id) filter (where n.is_head), count(*), count(*) filter (where n.is_root and n.injected = ''),
         count(distinct n.session_id) filter (
           where n.is_head and n.role = 'assistant' and lower(n.stop_reason) in ('stop', 'end_turn', 'end-turn', 'eos')),
         sum(n.cost_usd), sum(n.input_tokens), sum(n.output_tokens), max(n.created_at) - min(n.created_at), sum(n.tool_calls)
    from svc.nodes n
   where not exists (select from svc.session_edits d where d.session_id = n.session_id and d.deleted_at is not null)`;

async function benchSessions(kind: string, database: TestDatabase): Promise<void> {
  heading(`GET /v1/sessions, ${kind}: 100000 sessions`);
  const app = testApi({ execute: database.execute });
  const page = async (cursor: string | null) => {
    const response = await app.request(`/v1/sessions${cursor === null ? '' : `?cursor=${encodeURIComponent(cursor)}`}`);
    return (await response.json()) as { next_cursor?: string };
  };
  let cursor: string | null = null;
  for (let passed = 1; passed < 50; passed++) cursor = (await page(cursor)).next_cursor ?? null;
  row('', 'p50', 'p99');
  for (const [name, from] of [
    ['first page', null],
    ['50th page', cursor],
  ] as const) {
    const { p50, p99 } = percentiles(await timed(() => page(from), 4 * ASKS));
    row(name, ms(p50), ms(p99));
  }
}

async function timed(ask: () => Promise<unknown>, times: number): Promise<number[]> {
  const samples: number[] = [];
  for (let n = -2; n < times; n++) {
    const asked = performance.now();
    await ask();
    if (n >= 0) samples.push(performance.now() - asked); // the first ones plan and fill caches
  }
  return samples;
}

/**
 * Sessions that begin evenly over thirty days, whose nodes follow each other by half a minute: prompt, answer, prompt … Every tenth
 * node belongs to a side call of another model, so that a session has cells of two models.
 */
async function putNodes(database: TestDatabase, sessions: number, each: number): Promise<void> {
  for (let from = 0; from < sessions; from += PART) {
    const values = [from, Math.min(sessions, from + PART) - 1, sessions, each];
    await database.sql(
      `insert into svc.sessions (session_id, harness_id, harness_session_id, client_key, started_at, last_seen_at, turn_count)
       select md5(s::text)::uuid, 'bench', s::text, '', a.at, a.at + $4::integer * interval '30 seconds', $4::integer / 2
         from generate_series($1::integer, $2::integer) s,
              lateral (select timestamptz '${STARTED}' + s * (interval '30 days' / $3::integer) as at) a`,
      values,
    );
    await database.sql(
      `insert into svc.session_rollups (session_id, derive_version, agent_name, project, title, model, trace_count)
       select md5(s::text)::uuid, 1, 'agent-' || s % 7, 'project-' || s % 13, 'Session ' || s, 'claude-sonnet-4-6', $4::integer / 2
         from generate_series($1::integer, $2::integer) s where $3::integer > 0`,
      values,
    );
    await database.sql(
      `insert into svc.nodes (
         session_id, node_hash, parent_hash, raw_turn_id, call_id, position, depth, role, model, provider, agent_name, project,
         stop_reason, input_tokens, output_tokens, tool_calls, cost_usd, is_root, is_head, requested_at, created_at)
       select md5(s::text)::uuid, sha256((s || '-' || k)::bytea), case when k > 0 then sha256((s || '-' || k - 1)::bytea) end,
              s * $4::integer + k, s || '-' || k, k, k, case k % 2 when 0 then 'user' else 'assistant' end,
              case k % 10 when 9 then 'claude-haiku-4-5' else model end, provider, 'agent-' || s % 7, 'project-' || s % 13,
              case when k % 2 = 0 then '' when k = $4::integer - 1 then 'end_turn' else 'tool_use' end,
              k % 2 * (20000 + k), k % 2 * (100 + k), k % 2, case when k % 2 = 1 and s % 5 <> 3 then 0.001234 * k end,
              k = 0, k = $4::integer - 1, a.at, a.at
         from generate_series($1::integer, $2::integer) s, generate_series(0, $4::integer - 1) k,
              lateral (select timestamptz '${STARTED}' + s * (interval '30 days' / $3::integer) + k * interval '30 seconds' as at) a,
              lateral (select (array['claude-sonnet-4-6', 'gpt-5', 'gpt-4o-mini', 'llama3', 'claude-opus-4-5'])[1 + s % 5] as model,
                              (array['anthropic', 'openai', 'openai', 'ollama', 'anthropic'])[1 + s % 5] as provider) m`,
      values,
    );
  }
  for (const table of ['svc.nodes', 'svc.stat_cells', 'svc.stat_days', 'svc.sessions', 'svc.session_rollups'])
    await database.sql(`vacuum (analyze) ${table}`);
}
