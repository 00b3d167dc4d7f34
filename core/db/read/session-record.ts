/** Sessions from their tables: facts, rollup and people's edits, combined to the model's type. */
import { type SQL, sql } from 'drizzle-orm';
import type { ModelUsage } from '../../derive/changes.ts';
import type { SessionRecord } from '../../model/session.ts';
import { instant } from '../literals.ts';
import { present, usd } from './present.ts';

/** Columns of `svc.sessions s`, `svc.session_rollups r` and `svc.session_edits e`; the last two are left joins. */
export const sessionColumns: SQL = sql`
  s.session_id as id, s.harness_id, s.harness_session_id, nullif(s.auth_subject, '') as auth_subject,
  coalesce(s.fork_of_session_id, r.fork_of_session_id) as fork_of_session_id, s.turn_count + s.moved_turns as raw_turn_count,
  ${instant(sql`s.started_at`)} as started_at, ${instant(sql`s.last_seen_at`)} as last_seen_at,
  ${instant(sql`s.ended_at`)} as ended_at,
  r.parent_session_id, nullif(r.name, '') as name, nullif(r.cwd, '') as cwd, nullif(r.git_branch, '') as git_branch,
  nullif(r.harness_version, '') as harness_version, r.harness_metadata,
  nullif(r.agent_name, '') as agent_name, nullif(r.project, '') as project,
  coalesce(r.status, 'unknown') as status, nullif(r.title, '') as title, nullif(r.preview, '') as preview,
  nullif(r.model, '') as model, coalesce(r.trace_count, 0) as trace_count,
  coalesce(r.input_tokens, 0) as input_tokens, coalesce(r.output_tokens, 0) as output_tokens,
  coalesce(r.cache_read_tokens, 0) as cache_read_tokens, coalesce(r.cache_write_tokens, 0) as cache_write_tokens,
  coalesce(r.reasoning_tokens, 0) as reasoning_tokens, r.cost_usd,
  coalesce(r.unpriced_models, '{}') as unpriced_models, coalesce(r.model_usage, '[]') as model_usage,
  coalesce(r.kind_counts, '{}') as kind_counts, coalesce(r.tool_result_count, 0) as tool_result_count,
  coalesce(r.tool_error_count, 0) as tool_error_count, coalesce(r.inherited_calls, 0) as inherited_calls,
  r.inherited_cost_usd, coalesce(r.tasks, '[]') as tasks,
  coalesce(r.has_git_activity, false) as has_git_activity, nullif(e.display_name, '') as display_name`;

export type SessionRow = {
  id: string;
  harness_id: string;
  harness_session_id: string;
  auth_subject: string | null;
  fork_of_session_id: string | null;
  raw_turn_count: number;
  started_at: string;
  last_seen_at: string;
  ended_at: string | null;
  parent_session_id: string | null;
  name: string | null;
  cwd: string | null;
  git_branch: string | null;
  harness_version: string | null;
  harness_metadata: Record<string, unknown> | null;
  agent_name: string | null;
  project: string | null;
  status: 'completed' | 'failed' | 'abandoned' | 'interrupted' | 'unknown';
  title: string | null;
  preview: string | null;
  model: string | null;
  trace_count: number;
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  reasoning_tokens: number;
  cost_usd: string | null;
  unpriced_models: string[];
  model_usage: ModelUsage[];
  kind_counts: Record<string, number>;
  tool_result_count: number;
  tool_error_count: number;
  inherited_calls: number;
  inherited_cost_usd: string | null;
  tasks: unknown[];
  has_git_activity: boolean;
  display_name: string | null;
};

export const sessionRecord = (row: SessionRow): SessionRecord =>
  present<SessionRecord>({
    id: row.id,
    harness_id: row.harness_id,
    harness_session_id: row.harness_session_id,
    harness_version: row.harness_version,
    harness_metadata: row.harness_metadata,
    parent_session_id: row.parent_session_id,
    fork_of_session_id: row.fork_of_session_id,
    auth_subject: row.auth_subject,
    agent_name: row.agent_name,
    project: row.project,
    cwd: row.cwd,
    git_branch: row.git_branch,
    name: row.name,
    display_name: row.display_name,
    started_at: row.started_at,
    last_seen_at: row.last_seen_at,
    ended_at: row.ended_at,
    raw_turn_count: row.raw_turn_count,
    rollup: present<SessionRecord['rollup']>({
      status: row.status,
      title: row.title,
      preview: row.preview,
      turn_count: row.trace_count,
      model: row.model,
      model_usage: row.model_usage.length === 0 ? null : row.model_usage.map(modelUse),
      kind_counts: row.kind_counts,
      tool_result_count: row.tool_result_count,
      tool_error_count: row.tool_error_count,
      has_git_activity: row.has_git_activity,
      tasks: row.tasks,
      usage: {
        input_tokens: row.input_tokens,
        output_tokens: row.output_tokens,
        cache_read_tokens: row.cache_read_tokens,
        cache_write_tokens: row.cache_write_tokens,
        reasoning_tokens: row.reasoning_tokens,
        cost_usd: row.model_usage.some((use) => use.cost_usd !== null) ? usd(row.cost_usd) : null,
        unpriced_models: row.unpriced_models,
      },
      inherited_calls: row.inherited_calls || null,
      inherited_cost_usd: usd(row.inherited_cost_usd),
    }),
  });

const modelUse = ({ model, price, calls, input_tokens, output_tokens, cost_usd }: ModelUsage) => ({
  model,
  calls,
  input_tokens,
  output_tokens,
  cost_usd: usd(cost_usd),
  price,
});
