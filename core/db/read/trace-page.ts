/** Pages of traces, in the order of time. */
import type { Trace } from '../../model/trace.ts';
import { type TraceColumns, toTrace } from '../columns/trace.ts';

/** The key of a trace in the order of time. */
export type TraceKey = { started_at: string; trace_id: string };

/** A page from rows that were queried with one more than the limit. */
export const tracePage = (rows: TraceColumns[], limit: number): { traces: Trace[]; next: TraceKey | null } => {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    traces: shown.map(toTrace),
    next: rows.length > limit && last ? { started_at: last.started_at, trace_id: last.trace_id } : null,
  };
};
