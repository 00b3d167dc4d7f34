/** The totals of a session's calls. Each call counts once; sums are exact; a model without a price is listed, its cost is never 0. */
import { sessionId } from '../call/identity.ts';
import { agentName, isLibrary } from '../harness/libraries.ts';
import type { Identity } from '../model/identity.ts';
import { addUsage, noUsage, type Usage } from '../model/usage.ts';
import { addUsd, compareUsd } from '../price/money.ts';
import { type Leaf, sessionStatus } from './call-status.ts';
import type { ModelUsage, RollupRow, SpanRow, TraceRow } from './changes.ts';
import { noEvidence, type TranscriptEvidence } from './evidence.ts';
import type { SessionFacts, SessionState, SessionTotals } from './state.ts';
import { type ToolResult, touchesGit } from './tools.ts';
import type { CallTurn } from './turn.ts';
import { type CallSpend, sumsWith, withName } from './usage-sums.ts';

/** A trace with one more call's tokens and money. */
export function traceWith(row: TraceRow, spent: CallSpend): TraceRow {
  const { kind, usage } = spent;
  if (usage === null || spent.inherited_from !== null) return row;
  const main = kind === 'main' ? usage : noUsage;
  return {
    ...row,
    ...sumsWith(row, spent, usage),
    main_input_tokens: row.main_input_tokens + main.input_tokens,
    main_output_tokens: row.main_output_tokens + main.output_tokens,
  };
}

/** The session's totals with one more call. */
export function totalsWith(totals: SessionTotals, spent: CallSpend): SessionTotals {
  const { kind, model, usage, cost_usd } = spent;
  if (spent.inherited_from !== null) return withInherited(totals, spent);
  const counted: SessionTotals = {
    ...totals,
    kind_counts: { ...totals.kind_counts, [kind]: (totals.kind_counts[kind] ?? 0) + 1 },
    model_calls: { ...totals.model_calls, [model]: callsOf(totals, model) + 1 },
  };
  if (usage === null) return counted;
  return {
    ...counted,
    usage: addUsage(totals.usage, usage),
    cost_usd: cost_usd === null ? totals.cost_usd : addUsd(totals.cost_usd, cost_usd),
    unpriced_models: cost_usd === null ? withName(totals.unpriced_models, model) : totals.unpriced_models,
    model_usage: modelUsageWith(totals.model_usage, spent, usage),
  };
}

const withInherited = (totals: SessionTotals, { cost_usd }: CallSpend): SessionTotals => ({
  ...totals,
  inherited_calls: totals.inherited_calls + 1,
  inherited_cost_usd:
    cost_usd === null ? totals.inherited_cost_usd : addUsd(totals.inherited_cost_usd ?? '0', cost_usd),
});

/** The session's totals with a call's outcome, the tools that it requested and the results that it delivered. */
export function withTools(
  totals: SessionTotals,
  spans: readonly SpanRow[],
  results: readonly ToolResult[],
): SessionTotals {
  const toolErrors = results.filter(({ status }) => status === 'error').length;
  const callErrors = spans.filter(({ kind, status }) => kind === 'llm' && status === 'error').length;
  return {
    ...totals,
    tool_result_count: totals.tool_result_count + results.length,
    tool_error_count: totals.tool_error_count + toolErrors,
    error_count: totals.error_count + toolErrors + callErrors,
    has_git_activity: totals.has_git_activity || spans.some(touchesGit),
  };
}

/** What is known of the session after one more call: a value that the call does not hold stays. */
export const factsFrom = (
  previous: SessionFacts,
  { identity, session_id, surroundings, thread_id }: CallTurn,
): SessionFacts => ({
  name: identity.session_name || previous.name,
  cwd: identity.cwd || (thread_id === '' ? surroundings.cwd : '') || previous.cwd, // a sub-agent may work elsewhere
  git_branch: (thread_id === '' ? surroundings.git_branch : '') || previous.git_branch,
  harness_version: versionOf(identity, surroundings) || previous.harness_version,
  harness_metadata: identity.harness_metadata ?? previous.harness_metadata,
  agent_name: agentName(identity.agent_name, surroundings.agent_name) || previous.agent_name,
  project: identity.project || previous.project,
  parent_session_id: parentOf(identity, session_id) ?? previous.parent_session_id,
});

/** A harness that calls through a library does not have the library's version. */
const versionOf = ({ agent_name, harness_version }: Identity, surroundings: CallTurn['surroundings']): string =>
  isLibrary(agent_name) && surroundings.agent_name !== '' ? '' : harness_version;

function parentOf({ harness_id, parent_harness_session_id }: Identity, own: string): string | null {
  if (!parent_harness_session_id) return null;
  const parent = sessionId(harness_id, parent_harness_session_id);
  return parent === own ? null : parent;
}

/** The session's row as of its last folded call. Values from the wire take precedence over those from a transcript. */
export function rollupOf(state: SessionState, evidence: TranscriptEvidence = noEvidence): RollupRow {
  const { version, session_id, totals, told: facts, leaf, preview, title, tasks, fork_of } = state;
  const { usage, model_usage, model_calls, shape, ...counts } = totals;
  return {
    session_id,
    derive_version: version,
    ...facts,
    fork_of_session_id: fork_of,
    cwd: facts.cwd ?? evidence.cwd,
    git_branch: facts.git_branch ?? evidence.git_branch,
    harness_version: facts.harness_version ?? evidence.harness_version,
    status: statusOf(leaf, totals),
    title: title ?? evidence.title,
    preview,
    model: mostFrequent(model_calls),
    ...counts,
    shape: shape.bins,
    input_tokens: usage.input_tokens,
    output_tokens: usage.output_tokens,
    cache_read_tokens: usage.cache_read_tokens,
    cache_write_tokens: usage.cache_write_5m_tokens + usage.cache_write_1h_tokens,
    reasoning_tokens: usage.reasoning_tokens,
    model_usage: model_usage.toSorted(byCost),
    tasks,
  };
}

const statusOf = (leaf: Leaf | null, { tool_result_count, tool_error_count, has_git_activity }: SessionTotals) =>
  sessionStatus(leaf, { results: tool_result_count, errors: tool_error_count, git: has_git_activity });

function modelUsageWith(rows: ModelUsage[], { model, cost_usd, price }: CallSpend, usage: Usage): ModelUsage[] {
  const paid = price && { source: price.source, date: price.date };
  const same = (row: ModelUsage) =>
    row.model === model && row.price?.source === paid?.source && row.price?.date === paid?.date;
  const before = rows.find(same) ?? { model, price: paid, calls: 0, input_tokens: 0, output_tokens: 0, cost_usd: null };
  const after: ModelUsage = {
    ...before,
    calls: before.calls + 1,
    input_tokens: before.input_tokens + usage.input_tokens,
    output_tokens: before.output_tokens + usage.output_tokens,
    cost_usd: cost_usd === null ? before.cost_usd : addUsd(before.cost_usd ?? '0', cost_usd),
  };
  return rows.some(same) ? rows.map((row) => (same(row) ? after : row)) : [...rows, after];
}

/** Most expensive first, without a price last; then by name, so that equal sums have one order. */
const byCost = (one: ModelUsage, other: ModelUsage) =>
  compareUsd(other.cost_usd ?? '-1', one.cost_usd ?? '-1') ||
  compareText(one.model, other.model) ||
  compareText(one.price?.date ?? '', other.price?.date ?? '') ||
  compareText(one.price?.source ?? '', other.price?.source ?? '');

/** A model may be called `constructor`: only the record's own keys are counts. */
const callsOf = ({ model_calls }: SessionTotals, model: string) =>
  Object.hasOwn(model_calls, model) ? (model_calls[model] ?? 0) : 0;

const mostFrequent = ({ unknown: _, ...calls }: Record<string, number>) =>
  Object.entries(calls).sort(([a, m], [b, n]) => n - m || compareText(a, b))[0]?.[0] ?? '';

const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
