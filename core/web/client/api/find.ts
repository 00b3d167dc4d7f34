/** Reads of the page of Find: where an id belongs, and the spans that mean what is looked for. */
import type { Place } from '../../../model/place.ts';
import { request } from './request.ts';
import { requireCassette } from './service.ts';

export const whereIs = async (id: string, signal?: AbortSignal): Promise<Place[]> =>
  (await request<{ items: Place[] }>(`/v1/whereis/${encodeURIComponent(id)}`, { signal })).items;

/** As the search cassette answers. */
export type SpanHit = {
  session_id: string;
  trace_id: string;
  span_id: string;
  /** Cosine: 1 means the same. */
  score: number;
  user_prompt: string;
  snippet: string;
  model: string;
  started_at: string;
};

export type SpanHits = {
  results: SpanHit[];
  /** Absent where another process embeds. */
  coverage?: { embedded: number; pending: number; failed: number };
};

const MOST = '10';

export async function findSpans(query: string, signal?: AbortSignal): Promise<SpanHits> {
  await requireCassette('search', signal);
  return request(`/v1/cassettes/search/spans?${new URLSearchParams({ query, top_k: MOST })}`, { signal });
}
