/** How long do reads take when much is stored? Stats over a million nodes, and the list of a hundred thousand sessions. */
import { StatsQuery } from '../../core/model/stats.ts';
import { embeddedDatabase, serverDatabase, type TestDatabase } from '../support/databases.ts';
import { testApi } from '../support/read-api.ts';
import { heading, ms, percentiles, row } from './figures.ts';
import { putNodes } from './put-nodes.ts';
import { benchPayloads } from './read-payloads.ts';

const ASKS = 50;

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

export async function benchRead(groups: readonly string[]): Promise<void> {
  if (groups.length === 0 || groups.includes('lists')) await benchLists();
  if (groups.length === 0 || groups.includes('payloads')) await benchPayloads();
}

async function benchLists(): Promise<void> {
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
    const startedAt = performance.now();
    await ask();
    if (n >= 0) samples.push(performance.now() - startedAt); // the first ones plan and fill caches
  }
  return samples;
}
