/** What derivation writes: the rows of the projection, as plain values; `core/db` stores them unchanged. */
import type { PermissionVerdict } from '../harness/harness.ts';
import type { ContentBlock } from '../model/content-block.ts';
import type { AgentTotals } from '../model/span.ts';
import type { Usage } from '../model/usage.ts';
import type { AppliedRates } from '../price/bill.ts';
import type { Usd } from '../price/money.ts';
import type { Price } from '../price/prices.ts';

export type TraceRow = {
  trace_id: string;
  session_id: string;
  source: 'wire' | 'transcript';
  synthetic: string;
  status: 'ok' | 'error' | 'partial';
  user_prompt: string;
  response_preview: string;
  started_at: string;
  ended_at: string | null;
  duration_ns: number | null;
  span_count: number;
  tool_calls: number;
  error_count: number; // calls and tools that failed
  input_tokens: number;
  output_tokens: number;
  main_input_tokens: number;
  main_output_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  reasoning_tokens: number;
  cost_usd: Usd | null;
  unpriced_models: string[];
};

export type SpanRow = Usage & {
  trace_id: string;
  span_id: string;
  session_id: string;
  parent_span_id: string | null;
  seq: number;
  kind: 'agent' | 'llm' | 'tool' | 'event';
  call_kind: string;
  name: string;
  thread_id: string;
  status: 'ok' | 'error' | 'partial';
  error_type: string;
  error_message: string; // the provider's own sentence; ''
  model: string;
  provider: string;
  stop_reason: string;
  external_id: string;
  started_at: string;
  first_byte_at: string | null;
  ended_at: string | null;
  duration_ns: number | null;
  input: ContentBlock[];
  output: ContentBlock[];
  said_blocks: number[]; // indexes of the blocks of a call's `input` that a person wrote, 0 first
  plain_text: string | null; // of a call of the conversation: what it says without a harness's wrappers; null: not such a call
  verdict: PermissionVerdict | null;
  tool_calls_omitted: number; // tool calls of an answer that have no span of their own
  events_omitted: number; // injected messages of a call that have no span of their own
  description: string; // of a sub-agent: its task; ''
  totals: ExactAgentTotals | null; // of an agent
  usage_verbatim: unknown;
  cost_usd: Usd | null;
  price: (Omit<Price, 'rates'> & { rates?: AppliedRates }) | null; // stored before the rates were: without them
  raw_turn_id: number | null;
  call_id: string; // of a call in a transcript, which holds many; '' of a call over the wire, which its raw turn identifies
  node_hash: string | null;
  inherited_from: string | null; // the session in which the call counts; null: this one
};

/**
 * Totals of an agent's own calls, without those of the agents below it; calls beside the conversation count for the main agent. The cost
 * is exact.
 */
export type ExactAgentTotals = Omit<AgentTotals, 'cost_usd'> & { cost_usd: Usd | null };

export type LinkKind = 'emits' | 'feeds' | 'rejoin' | 'verdict' | 'compaction-seam' | 'retry-of' | 'fork-of';
export type LinkRow = {
  session_id: string;
  kind: LinkKind;
  from_trace_id: string;
  from_span_id: string;
  from_io: '' | 'input' | 'output' | 'verdict';
  to_trace_id: string;
  to_span_id: string;
  to_io: '' | 'input' | 'output' | 'verdict';
};

/**
 * A later event's effect on a span written before: its end; for a tool its result and the verdict on it; for a thread's span its
 * parent once that is known, its name and its totals.
 */
export type SpanPatch = Pick<SpanRow, 'trace_id' | 'span_id'> &
  Partial<
    Pick<
      SpanRow,
      | 'parent_span_id'
      | 'name'
      | 'description'
      | 'status'
      | 'error_type'
      | 'ended_at'
      | 'duration_ns'
      | 'output'
      | 'verdict'
      | 'totals'
    >
  >;

/** The span with a patch applied. */
export const patched = (span: SpanRow, patch: SpanPatch): SpanRow => ({ ...span, ...patch });

/** Links to be deleted: all of a kind that start at a span, except those that the same changes write. */
export type DroppedLinks = Pick<LinkRow, 'kind' | 'from_trace_id' | 'from_span_id'>;

export type ModelUsage = {
  model: string;
  price: { source: string; date: string } | null;
  calls: number;
  input_tokens: number;
  output_tokens: number;
  cost_usd: Usd | null;
};

export type RollupRow = {
  session_id: string;
  derive_version: number;
  parent_session_id: string | null;
  fork_of_session_id: string | null;
  name: string | null;
  cwd: string | null;
  git_branch: string | null;
  harness_version: string | null;
  harness_metadata: Record<string, unknown> | null;
  agent_name: string;
  project: string;
  status: 'completed' | 'failed' | 'abandoned' | 'interrupted' | 'unknown';
  title: string | null;
  preview: string | null;
  model: string;
  trace_count: number;
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  reasoning_tokens: number;
  cost_usd: Usd;
  unpriced_models: string[];
  model_usage: ModelUsage[];
  kind_counts: Record<string, number>;
  tool_result_count: number;
  tool_error_count: number;
  error_count: number; // calls and tools that failed, but for those that count in another session
  shape: number[]; // input tokens of the calls of the conversation
  inherited_calls: number;
  inherited_cost_usd: Usd | null;
  tasks: unknown[];
  has_git_activity: boolean;
};

/** What one call changes, in the order in which it is to be written: traces, spans, patches, dropped links, links, rollup. */
export type ProjectionChanges = {
  traces: TraceRow[]; // whole rows, which replace existing ones
  spans: SpanRow[];
  patches: SpanPatch[];
  links: LinkRow[];
  dropped: DroppedLinks[];
  rollup: RollupRow;
};
