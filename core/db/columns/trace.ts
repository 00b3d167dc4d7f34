/** The columns of traces, in the shape of the model. */
import type { TraceRow } from '../../derive/changes.ts';
import type { Trace } from '../../model/trace.ts';
import {
  type ColumnsFor,
  columnsOf,
  mapping,
  money,
  optional,
  type PgType,
  type RowOf,
  selectOf,
  typesOf,
} from './column.ts';

/** Of `svc.traces t`. */
const derived = columnsOf<'t', TraceRow>('t');

export const traceColumns = {
  trace_id: derived('trace_id', 'uuid'),
  session_id: derived('session_id', 'uuid'),
  source: derived('source', 'text'),
  status: derived('status', 'text'),
  synthetic: optional(derived('synthetic', 'text')),
  user_prompt: derived('user_prompt', 'text'),
  response_preview: optional(derived('response_preview', 'text')),
  started_at: derived('started_at', 'timestamptz'),
  ended_at: optional(derived('ended_at', 'timestamptz')),
  duration_ns: optional(derived('duration_ns', 'bigint')),
  span_count: derived('span_count', 'integer'),
  tool_calls: derived('tool_calls', 'integer'),
  error_count: derived('error_count', 'integer'),
  usage: {
    input_tokens: derived('input_tokens', 'bigint'),
    output_tokens: derived('output_tokens', 'bigint'),
    cache_read_tokens: derived('cache_read_tokens', 'bigint'),
    cache_write_tokens: derived('cache_write_tokens', 'bigint'),
    reasoning_tokens: derived('reasoning_tokens', 'bigint'),
    cost_usd: money(derived('cost_usd', 'numeric')),
    unpriced_models: derived('unpriced_models', 'text[]'),
  },
  main_usage: {
    input_tokens: derived('main_input_tokens', 'bigint'),
    output_tokens: derived('main_output_tokens', 'bigint'),
  },
} as const satisfies ColumnsFor<Trace>;

export type TraceColumns = RowOf<typeof traceColumns>;

export const traceSelect = selectOf(traceColumns);

/** What the fold writes: its row must have each of these columns, and no other. */
export const traceTypes: Record<keyof TraceRow, PgType> = typesOf(traceColumns, 't');

export const toTrace = mapping<Trace, TraceColumns>(traceColumns);
