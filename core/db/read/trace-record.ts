/** Traces from their table. */
import { type SQL, sql } from 'drizzle-orm';
import type { Trace } from '../../model/trace.ts';
import { instant } from '../literals.ts';
import { present, usd } from './present.ts';

/** Columns of `svc.traces t`. */
export const traceColumns: SQL = sql`
  t.trace_id, t.session_id, t.source, t.status, nullif(t.synthetic, '') as synthetic, t.user_prompt,
  nullif(t.response_preview, '') as response_preview, ${instant(sql`t.started_at`)} as started_at,
  ${instant(sql`t.ended_at`)} as ended_at, t.duration_ns, t.span_count, t.tool_calls, t.input_tokens, t.output_tokens,
  t.main_input_tokens, t.main_output_tokens, t.cache_read_tokens, t.cache_write_tokens, t.reasoning_tokens,
  t.cost_usd, t.unpriced_models`;

/** True for rows of sessions that are not deleted. */
export const notDeleted = (session: SQL): SQL => sql`
  not exists (select from svc.session_edits d where d.session_id = ${session} and d.deleted_at is not null)`;

/** The key of a trace in the order of time. */
export type TraceKey = { started_at: string; trace_id: string };

export type TraceColumns = {
  trace_id: string;
  session_id: string;
  source: 'wire' | 'transcript';
  status: 'ok' | 'error' | 'partial';
  synthetic: string | null;
  user_prompt: string;
  response_preview: string | null;
  started_at: string;
  ended_at: string | null;
  duration_ns: number | null;
  span_count: number;
  tool_calls: number;
  input_tokens: number;
  output_tokens: number;
  main_input_tokens: number;
  main_output_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  reasoning_tokens: number;
  cost_usd: string | null;
  unpriced_models: string[];
};

export const traceRecord = (row: TraceColumns): Trace =>
  present<Trace>({
    trace_id: row.trace_id,
    session_id: row.session_id,
    source: row.source,
    status: row.status,
    synthetic: row.synthetic,
    user_prompt: row.user_prompt,
    response_preview: row.response_preview,
    started_at: row.started_at,
    ended_at: row.ended_at,
    duration_ns: row.duration_ns,
    span_count: row.span_count,
    tool_calls: row.tool_calls,
    usage: {
      input_tokens: row.input_tokens,
      output_tokens: row.output_tokens,
      cache_read_tokens: row.cache_read_tokens,
      cache_write_tokens: row.cache_write_tokens,
      reasoning_tokens: row.reasoning_tokens,
      cost_usd: usd(row.cost_usd),
      unpriced_models: row.unpriced_models,
    },
    main_usage: { input_tokens: row.main_input_tokens, output_tokens: row.main_output_tokens },
  });

/** A page from rows that were queried with one more than the limit. */
export const tracePage = (rows: TraceColumns[], limit: number): { traces: Trace[]; next: TraceKey | null } => {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    traces: shown.map(traceRecord),
    next: rows.length > limit && last ? { started_at: last.started_at, trace_id: last.trace_id } : null,
  };
};
