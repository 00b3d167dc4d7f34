/** Inserts nodes into a test's database, changes them in every possible way, and checks that the cells of stats follow. */
import * as assert from 'uvu/assert';
import type { TestDatabase } from './databases.ts';
import { idOf } from './projection-rows.ts';

export type StatNode = {
  session: number;
  role: string;
  injected: string;
  project: string;
  agent_name: string;
  model: string;
  provider: string;
  stop_reason: string;
  input_tokens: number;
  output_tokens: number;
  tool_calls: number;
  is_root: boolean;
  is_head: boolean;
  cost_usd: string | null; // with twelve decimals, or null
  cache_read_tokens: number;
  cache_write_5m_tokens: number;
  cache_write_1h_tokens: number;
  reasoning_tokens: number;
  cost_fresh: string | null; // of cost_usd, as are the others; all null: not known
  cost_cache_read: string | null;
  cost_cache_write_5m: string | null;
  cost_cache_write_1h: string | null;
  cost_output: string | null;
  cost_reasoning: string | null;
  created_us: number; // microseconds after nine o'clock
};

export const NINE_MS = Date.UTC(2026, 10, 21, 9);
export const instantAt = (us: number): string =>
  `${new Date(NINE_MS + Math.floor(us / 1000)).toISOString().slice(0, -1)}${String(us % 1000).padStart(3, '0')}Z`;

const plain: StatNode = {
  session: 1,
  role: 'assistant',
  injected: '',
  project: 'atlas',
  agent_name: 'claude-code',
  model: 'm',
  provider: 'openai',
  stop_reason: '',
  input_tokens: 0,
  output_tokens: 0,
  tool_calls: 0,
  is_root: false,
  is_head: false,
  cost_usd: null,
  cache_read_tokens: 0,
  cache_write_5m_tokens: 0,
  cache_write_1h_tokens: 0,
  reasoning_tokens: 0,
  cost_fresh: null,
  cost_cache_read: null,
  cost_cache_write_5m: null,
  cost_cache_write_1h: null,
  cost_output: null,
  cost_reasoning: null,
  created_us: 0,
};

const TOKENS = ['cache_read_tokens', 'cache_write_5m_tokens', 'cache_write_1h_tokens', 'reasoning_tokens'];
const COSTS = [
  'cost_fresh',
  'cost_cache_read',
  'cost_cache_write_5m',
  'cost_cache_write_1h',
  'cost_output',
  'cost_reasoning',
];
const BY_KIND = [...TOKENS, ...COSTS];

/** The sums by kind as a group-by over nodes has them, and as rollups do. */
export const KIND_SUMS = `
  sum(cache_read_tokens::numeric) as cache_read_tokens, sum(cache_write_1h_tokens + cache_write_5m_tokens::numeric) as cache_write_tokens,
  sum(reasoning_tokens::numeric) as reasoning_tokens,
  sum(case when cost_usd is null then input_tokens::numeric + output_tokens else 0 end) as unpriced_tokens,
  ${COSTS.map((name) => `sum(coalesce(${name}, 0)) as ${name}`).join(', ')}`;
export const ROLLED_UP = ['cache_read_tokens', 'cache_write_tokens', 'reasoning_tokens', 'unpriced_tokens', ...COSTS]
  .map((name) => `trim_scale(${name}) as ${name}`)
  .join(', ');

/** Replaces all nodes by these. Of their sessions some are deleted; those of an even number are at least renamed. */
export async function put(
  database: TestDatabase,
  nodes: readonly Partial<StatNode>[],
  deleted: readonly number[] = [],
) {
  const edits = SESSIONS.filter((n) => n % 2 === 0 || deleted.includes(n)).map((n) => ({
    session_id: idOf('session', n),
    deleted_at: deleted.includes(n) ? instantAt(0) : null,
  }));
  await database.sql('delete from svc.nodes');
  await assertCells(database);
  await database.sql('delete from svc.session_edits');
  await database.sql(
    `insert into svc.session_edits (session_id, display_name, deleted_at)
     select session_id, 'renamed', deleted_at from jsonb_to_recordset($1::jsonb) as e (session_id uuid, deleted_at timestamptz)`,
    [JSON.stringify(edits)],
  );
  await write(database, [...nodes.entries()]);
}

/** Writes nodes by their number, which is their hash: new ones are inserted, existing ones overwritten, as by an earlier call. */
async function write(database: TestDatabase, nodes: readonly (readonly [number, Partial<StatNode>])[]) {
  const rows = nodes.map(([n, overrides]) => {
    const { session, created_us, ...node } = { ...plain, ...overrides };
    return {
      ...node,
      session_id: idOf('session', session),
      node_hash: `\\x${n.toString(16).padStart(64, '0')}`,
      created_at: instantAt(created_us),
    };
  });
  await database.sql(
    `insert into svc.nodes (
       session_id, node_hash, raw_turn_id, call_id, position, depth, role, injected, project, agent_name, model, provider,
       stop_reason, input_tokens, output_tokens, tool_calls, is_root, is_head, cost_usd, requested_at, created_at, ${BY_KIND})
     select session_id, node_hash, 1, 'call', 0, 0, role, injected, project, agent_name, model, provider,
            stop_reason, input_tokens, output_tokens, tool_calls, is_root, is_head, cost_usd, created_at, created_at, ${BY_KIND}
       from jsonb_to_recordset($1::jsonb) as n (
              session_id uuid, node_hash bytea, role text, injected text, project text, agent_name text, model text,
              provider text, stop_reason text, input_tokens bigint, output_tokens bigint, tool_calls integer, is_root boolean,
              is_head boolean, cost_usd numeric, created_at timestamptz,
              ${BY_KIND.map((name) => `${name} ${TOKENS.includes(name) ? 'bigint' : 'numeric'}`)})
     on conflict on constraint nodes_pkey do update set
       role = excluded.role, injected = excluded.injected, project = excluded.project, agent_name = excluded.agent_name,
       model = excluded.model, provider = excluded.provider, stop_reason = excluded.stop_reason,
       input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens, tool_calls = excluded.tool_calls,
       is_root = excluded.is_root, is_head = excluded.is_head, cost_usd = excluded.cost_usd, created_at = excluded.created_at,
       ${BY_KIND.map((name) => `${name} = excluded.${name}`)}`,
    [JSON.stringify(rows)],
  );
}

/** A step that changes nodes: their numbers, modulo the count, and the change. */
export type Step =
  | { kind: 'more'; nodes: StatNode[] } // some come in
  | { kind: 'earlier'; at: number[]; node: StatNode; more: StatNode[] } // some are overwritten while others come in
  | { kind: 'followed'; at: number[] } // some are no heads any longer
  | { kind: 'moved'; at: number[]; session: number } // some go to another session
  | { kind: 'gone'; at: number[] };

/** Applies the step to the database and to `nodes`, where null is a deleted node. */
export async function take(database: TestDatabase, nodes: (StatNode | null)[], step: Step) {
  const existing = [...nodes.entries()].flatMap(([n, node]) => (node ? [{ n, node }] : []));
  const picked = (at: readonly number[]) =>
    [...new Set(at.map((place) => place % Math.max(1, existing.length)))].flatMap((place) => existing[place] ?? []);
  const hashes = (at: readonly number[]) => JSON.stringify(picked(at).map(({ n }) => n.toString(16).padStart(64, '0')));
  const theirs = "where encode(node_hash, 'hex') in (select jsonb_array_elements_text($1::jsonb))";
  switch (step.kind) {
    case 'more':
      await write(
        database,
        step.nodes.map((node, i) => [nodes.length + i, node]),
      );
      nodes.push(...step.nodes);
      break;
    case 'earlier': {
      const over = picked(step.at).map(({ n, node }) => [n, { ...step.node, session: node.session }] as const);
      await write(database, [...over, ...step.more.map((node, i) => [nodes.length + i, node] as const)]);
      nodes.push(...step.more);
      for (const [n, node] of over) nodes[n] = node;
      break;
    }
    case 'followed':
      await database.sql(`update svc.nodes set is_head = false ${theirs}`, [hashes(step.at)]);
      for (const { n, node } of picked(step.at)) nodes[n] = { ...node, is_head: false };
      break;
    case 'moved':
      await database.sql(`update svc.nodes set session_id = $2::uuid ${theirs}`, [
        hashes(step.at),
        idOf('session', step.session),
      ]);
      for (const { n, node } of picked(step.at)) nodes[n] = { ...node, session: step.session };
      break;
    case 'gone':
      await database.sql(`delete from svc.nodes ${theirs}`, [hashes(step.at)]);
      for (const { n } of picked(step.at)) nodes[n] = null;
  }
}

/** Checks that the cells equal a group-by over the nodes, and that there are no others. */
export async function assertCells(database: TestDatabase, message?: string) {
  const sums = `turn_count, root_count, head_count, completed_count, tool_calls, unpriced_count, first_at, last_at,
                trim_scale(input_tokens) as input_tokens, trim_scale(output_tokens) as output_tokens,
                trim_scale(cost_usd) as cost_usd, ${ROLLED_UP}`;
  const keys = 'session_id, day, project, agent_name, model, provider';
  const [cells, groups] = [
    await database.sql(`select ${keys}, ${sums} from svc.stat_cells order by ${keys}`),
    await database.sql(`
      select ${keys}, ${sums}
        from (select session_id, date_trunc('day', created_at, 'UTC') at time zone 'UTC' as midnight, project, agent_name, model,
                     provider, count(*) as turn_count,
                     sum(case when parted.is_root and parted.injected = '' then 1 else 0 end) as root_count,
                     sum(case when parted.is_head then 1 else 0 end) as head_count,
                     sum(case when parted.is_head and role = 'assistant'
                               and stop_reason ~* '^(stop|end[-_]turn|eos)$' then 1 else 0 end) as completed_count,
                     sum(case when cost_usd is null and greatest(input_tokens, output_tokens) > 0 then 1 else 0 end) as unpriced_count,
                     sum(tool_calls) as tool_calls, min(created_at) as first_at, max(created_at) as last_at,
                     sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
                     sum(coalesce(cost_usd, 0)) as cost_usd, ${KIND_SUMS}
                from svc.nodes parted
               group by 1, 2, 3, 4, 5, 6) grouped, lateral (select midnight::date as day) days
       order by ${keys}`),
  ];
  assert.equal(cells, groups, message);
}

export const SESSIONS = [1, 2, 3, 4];
export const MIDNIGHT = 15 * 3600 * 1_000_000; // of the next day, on the nodes' clock
