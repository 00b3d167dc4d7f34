/** The state of the fold: what it remembers of a session. Plain JSON, and bounded: it does not grow with the number of turns. */

import type { PermissionVerdict, Task } from '../harness/harness.ts';
import { noUsage, type Usage } from '../model/usage.ts';
import type { Leaf } from './call-status.ts';
import type { ExactAgentTotals, RollupRow, SpanRow, TraceRow } from './changes.ts';
import type { CallKey } from './order.ts';
import { noShape, type Shape } from './shape.ts';
import { DERIVE_VERSION } from './version.ts';

/**
 * A trace that later calls may still change. `n` counts the session's traces; rows elsewhere refer to a trace by it. `led`: a
 * call of the conversation itself belongs to it. `forgot_agents`: more threads have worked in it than the state holds.
 */
export type LiveTrace = {
  n: number;
  root_span_id: string;
  next_seq: number;
  led: boolean;
  forgot_agents: boolean;
  totals: ExactAgentTotals; // of its root span: of all calls that are no sub-agent's
  row: TraceRow;
};

/**
 * A message that calls may continue: the answer or the last message of a recent call, by the first 64 bits of its hash.
 * `guessed`: the call did not name its thread. `gone_on`: a call has continued it.
 */
export type Head = {
  hash: string;
  n: number;
  span_id: string;
  thread_id: string;
  guessed: boolean;
  gone_on: boolean;
};

/** A tool span that waits for its result. */
export type PendingTool = {
  tool_use_id: string;
  tool_name: string;
  n: number;
  span_id: string;
  thread_id: string;
  started_at: string;
  action: string; // what it would do, normalised: its input's texts, a line each; at most 200 characters
  stages: number[]; // of permission checks that have judged it
  verdict: PermissionVerdict | null; // the latest
  served: boolean; // a call beside the conversation has served it
};

/** The input of a waiting tool that may change the session's tasks once its result arrives. */
export type RequestedTask = { n: number; span_id: string; tool_input: unknown };

/** A tool span that starts another thread, before its result and after. */
export type Spawn = {
  tool_use_id: string;
  n: number;
  span_id: string;
  thread_id: string; // that requested it
  prompt: string; // by `wordsKey`
  label: string;
  description: string;
  names: string[]; // of the new thread, as the tool's result gives them
  done: boolean; // its result has arrived
  claimed: string; // the thread that it has started; ''
};

/** A thread's span in a trace, while its calls may still change it. `tool` is the span that started it; '' when not known. */
export type Agent = {
  thread_id: string;
  n: number;
  span_id: string;
  parent_span_id: string;
  tool: string;
  path: string;
  label: string;
  description: string;
  started_at: string;
  ended_at: string | null;
  status: SpanRow['status'];
  totals: ExactAgentTotals;
  rejoined: boolean;
};

/** A compaction that waits for the call that continues from it. */
export type Compaction = {
  trace_id: string;
  span_id: string;
  from: string | null; // the message that it continued: a call that continues the same one has not been compacted
  summary: string; // its first words
};

/** A failed call that waits for a retry with the same last message. */
export type FailedCall = { tip: string; n: number; span_id: string };

/**
 * `inherited_calls`: calls that are shown here and count in another session; in none of the other totals. `inherited_cost_usd` null: none
 * of them has a price.
 */
export type SessionTotals = Pick<
  RollupRow,
  | 'trace_count'
  | 'cost_usd'
  | 'unpriced_models'
  | 'model_usage'
  | 'kind_counts'
  | 'tool_result_count'
  | 'tool_error_count'
  | 'error_count'
  | 'has_git_activity'
  | 'inherited_calls'
  | 'inherited_cost_usd'
> & { usage: Usage; model_calls: Record<string, number>; shape: Shape };

/** What is known of the session, each value from the latest call that holds it. */
export type SessionFacts = Pick<
  RollupRow,
  | 'name'
  | 'cwd'
  | 'git_branch'
  | 'harness_version'
  | 'harness_metadata'
  | 'agent_name'
  | 'project'
  | 'parent_session_id'
>;

export type SessionState = {
  version: number; // of the rules; a state of another version cannot be used
  session_id: string;
  turns: number; // folded so far
  last: CallKey | null; // of the last call folded
  live: LiveTrace[]; // least recently touched first
  current: number | null; // the main thread's trace
  agents: Agent[]; // least recently used first
  spawns: Spawn[]; // oldest first
  heads: Head[]; // oldest first
  pending: PendingTool[]; // oldest first
  failed: FailedCall[]; // oldest first
  compacted: Compaction | null;
  leaf: Leaf | null;
  preview: string | null;
  title: string | null; // from a call over the wire
  tasks: Task[];
  tasks_asked: RequestedTask[]; // oldest first
  told: SessionFacts;
  fork_of: string | null; // the session in which the last inherited call counts
  totals: SessionTotals;
};

/** Above these limits the oldest entry is dropped: what arrives for it later is not joined. */
export const LIMITS = {
  live: 32,
  agents: 256,
  spawns: 128,
  heads: 128,
  pending: 1000,
  failed: 32,
  tasks_asked: 8,
} as const;

export const emptyState = (session_id: string): SessionState => ({
  version: DERIVE_VERSION,
  session_id,
  turns: 0,
  last: null,
  live: [],
  current: null,
  agents: [],
  spawns: [],
  heads: [],
  pending: [],
  failed: [],
  compacted: null,
  leaf: null,
  preview: null,
  title: null,
  tasks: [],
  tasks_asked: [],
  told: {
    name: null,
    cwd: null,
    git_branch: null,
    harness_version: null,
    harness_metadata: null,
    agent_name: '',
    project: '',
    parent_session_id: null,
  },
  fork_of: null,
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
    error_count: 0,
    shape: noShape,
    has_git_activity: false,
    inherited_calls: 0,
    inherited_cost_usd: null,
  },
});

/** The list without its first members past a limit. */
export const newest = <T>(list: readonly T[], limit: number): T[] => list.slice(Math.max(0, list.length - limit));
