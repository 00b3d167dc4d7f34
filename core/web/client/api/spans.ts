/** Reads of spans. */
import type { Span } from '../../../model/span.ts';
import { request } from './request.ts';

type Window = { from_seq: number; limit: number; signal: AbortSignal };

/** Some spans of a trace in the order of the walk, with the beginnings of their texts. */
export function readSpans(trace_id: string, { from_seq, limit, signal }: Window): Promise<{ items: Span[] }> {
  const query = new URLSearchParams({ from_seq: `${from_seq}`, limit: `${limit}`, payload: 'preview' });
  return request(`/v1/traces/${encodeURIComponent(trace_id)}/spans?${query}`, { signal });
}

/** One span with all of its text. */
export const readSpan = (trace_id: string, span_id: string, signal?: AbortSignal): Promise<Span> =>
  request(`/v1/traces/${encodeURIComponent(trace_id)}/spans/${encodeURIComponent(span_id)}`, { signal, payload: true });
