/** Many sessions, put into a database as derivation and the index of texts leave them, without their turns. */
import { LAST_ID, TERMS_VERSION } from '../../core/db/find/index-spans.ts';
import { DERIVE_VERSION } from '../../core/derive/version.ts';
import type { TestDatabase } from '../support/databases.ts';

const PART = 1000; // sessions of one insert
const STARTED = '2026-10-01T00:00:00Z'; // and thirty days on

/**
 * Sessions that begin evenly over thirty days, whose nodes follow each other by half a minute: prompt, answer, prompt … Every tenth
 * node belongs to a side call of another model, so that a session has cells of two models.
 */
export async function putNodes(database: TestDatabase, sessions: number, each: number): Promise<void> {
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
       select md5(s::text)::uuid, $5::integer, 'agent-' || s % 7, 'project-' || s % 13, 'Session ' || s, 'claude-sonnet-4-6', $4::integer / 2
         from generate_series($1::integer, $2::integer) s where $3::integer > 0`,
      [...values, DERIVE_VERSION], // of older ones a service would derive them again
    );
    await database.sql(
      `insert into svc.found_sessions (session_id, version, rev, trace_id, span_id)
       select md5(s::text)::uuid, $3::integer, 1, $4::uuid, $4::uuid from generate_series($1::integer, $2::integer) s`,
      [from, Math.min(sessions, from + PART) - 1, TERMS_VERSION, LAST_ID],
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
  for (const table of [
    'svc.nodes',
    'svc.stat_cells',
    'svc.stat_days',
    'svc.sessions',
    'svc.session_rollups',
    'svc.found_sessions',
  ])
    await database.sql(`vacuum (analyze) ${table}`);
}
