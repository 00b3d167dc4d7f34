/** What does the fold remember of a session? Plain JSON, bounded: it does not grow with the number of turns. */
import { noUsage, type Usage } from '../model/usage.ts';
import type { Leaf } from './call-status.ts';
import type { ModelUsage, RollupRow, TraceRow, Usd } from './changes.ts';
import type { CallKey } from './order.ts';
import { DERIVE_VERSION } from './version.ts';

/** A trace that later calls may still change. `n` counts the session's traces; rows elsewhere name a trace by it. */
export type LiveTrace = { n: number; root_span_id: string; next_seq: number; row: TraceRow };

/** A message that calls may continue: the answer or the last message of a recent call, by the first 64 bits of its hash. */
export type Head = { hash: string; n: number };

/** A tool span that waits for its result. */
export type PendingTool = { tool_use_id: string; tool_name: string; n: number; span_id: string; started_at: string };

/** A failed call that waits for a retry with the same last message. */
export type FailedCall = { tip: string; n: number; span_id: string };

export type Totals = {
  trace_count: number;
  usage: Usage;
  cost_usd: Usd;
  unpriced_models: string[];
  model_usage: ModelUsage[];
  model_calls: Record<string, number>;
  kind_counts: Record<string, number>;
  tool_result_count: number;
  tool_error_count: number;
  has_git_activity: boolean;
};

/** What the latest call that tells it says. */
export type Told = Pick<
  RollupRow,
  'name' | 'cwd' | 'harness_version' | 'harness_metadata' | 'agent_name' | 'project' | 'parent_session_id'
>;

export type SessionState = {
  version: number; // of the rules; a state of other rules is of no use
  session_id: string;
  turns: number; // folded so far
  last: CallKey | null; // of the last call folded
  live: LiveTrace[]; // least recently touched first
  current: { thread_id: string; n: number }[]; // each thread's current trace, least recently used first
  heads: Head[]; // oldest first
  pending: PendingTool[]; // oldest first
  failed: FailedCall[]; // oldest first
  leaf: Leaf | null;
  preview: string | null;
  told: Told;
  totals: Totals;
};

/** Past these the oldest goes: what then comes for it is not joined. */
export const LIMITS = { live: 32, current: 64, heads: 128, pending: 1000, failed: 32 } as const;

export const emptyState = (session_id: string): SessionState => ({
  version: DERIVE_VERSION,
  session_id,
  turns: 0,
  last: null,
  live: [],
  current: [],
  heads: [],
  pending: [],
  failed: [],
  leaf: null,
  preview: null,
  told: {
    name: null,
    cwd: null,
    harness_version: null,
    harness_metadata: null,
    agent_name: '',
    project: '',
    parent_session_id: null,
  },
  totals: {
    trace_count: 0,
    usage: noUsage,
    cost_usd: '0',
    unpriced_models: [],
    model_usage: [],
    model_calls: {},
    kind_counts: {},
    tool_result_count: 0,
    tool_error_count: 0,
    has_git_activity: false,
  },
});

/** The list without its first members past a limit. */
export const newest = <T>(list: readonly T[], limit: number): T[] => list.slice(Math.max(0, list.length - limit));
