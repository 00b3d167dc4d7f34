/** Live traces: those that later calls may still change, so that the state holds their rows. */
import { noAgentTotals } from './agent-totals.ts';
import type { SpanPatch, TraceRow } from './changes.ts';
import { agentSpanId, traceId } from './ids.ts';
import { durationNs, later } from './instants.ts';
import type { LiveTrace, SessionState } from './state.ts';
import type { ToolResult } from './tools.ts';
import type { CallTurn } from './turn.ts';

/** The trace that a call opens, before its first step is counted. `synthetic` is the reason, where nobody typed a prompt. */
export const openedTrace = (
  state: SessionState,
  turn: CallTurn,
  synthetic: '' | 'shadow-opener' | 'post-compaction',
  user_prompt: string,
): LiveTrace => ({
  n: state.totals.trace_count + 1,
  root_span_id: agentSpanId(turn.call_id),
  next_seq: 0,
  led: false,
  forgot_agents: false,
  totals: noAgentTotals,
  row: {
    trace_id: traceId(turn.call_id),
    session_id: turn.session_id,
    source: turn.source,
    synthetic,
    status: 'ok',
    user_prompt,
    response_preview: '',
    started_at: turn.requested_at,
    ended_at: null,
    duration_ns: null,
    span_count: 0,
    tool_calls: 0,
    error_count: 0,
    input_tokens: 0,
    output_tokens: 0,
    main_input_tokens: 0,
    main_output_tokens: 0,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    reasoning_tokens: 0,
    cost_usd: null,
    unpriced_models: [],
  },
});

/** A trace lasts until the latest known end of its steps. */
export function lasting(row: TraceRow, until: string | null): TraceRow {
  const ended_at = later(row.ended_at, until);
  return ended_at === row.ended_at ? row : { ...row, ended_at, duration_ns: durationNs(row.started_at, ended_at) };
}

/** A trace with the results that arrived for its own tools; the same value when there are none. */
export function withResults(
  trace: LiveTrace,
  delivered: readonly { tool: { n: number }; result: ToolResult }[],
): LiveTrace {
  const own = delivered.filter(({ tool }) => tool.n === trace.n).map(({ result }) => result);
  const row = lasting(trace.row, own.map(({ ended_at }) => ended_at).reduce(later, null));
  const failed = own.filter(({ status }) => status === 'error').length;
  if (failed > 0) return { ...trace, row: { ...row, error_count: row.error_count + failed } };
  return row === trace.row ? trace : { ...trace, row };
}

/** The root span lasts as long as its trace and ends as it does. */
export const rootPatch = ({ root_span_id, row, totals }: LiveTrace): SpanPatch => ({
  trace_id: row.trace_id,
  span_id: root_span_id,
  status: row.status,
  totals,
  ended_at: row.ended_at,
  duration_ns: row.duration_ns,
});
