/** Reads of what finds: where an id belongs, the steps that hold a text, those of one session, and those that mean it. */
import type { FindLine, FindPage } from '../../../model/find.ts';
import type { Place } from '../../../model/place.ts';
import { readJsonLines } from './json-lines.ts';
import { request, send } from './request.ts';
import { requireCassette } from './service.ts';

export const whereIs = async (id: string, signal?: AbortSignal): Promise<Place[]> =>
  (await request<{ items: Place[] }>(`/v1/whereis/${encodeURIComponent(id)}`, { signal })).items;

/** @param query as the route has it: `text`, `in`, filters, `limit`, `cursor` */
export const findText = (query: URLSearchParams, signal?: AbortSignal): Promise<FindPage> =>
  request(`/v1/find?${query}`, { signal });

/** What was said and done: the route itself would look through system prompts as well, which is rarely meant. */
const USUAL_PLACES = 'conversation,tools,thinking';

/** @param places as the route has them; '': the usual ones @param onLines gets lines as they come */
export async function findInSession(
  id: string,
  { text, places }: { text: string; places: string },
  onLines: (lines: FindLine[]) => void,
  signal: AbortSignal,
): Promise<void> {
  const query = new URLSearchParams({ text, in: places || USUAL_PLACES });
  const path = `/v1/sessions/${encodeURIComponent(id)}/find?${query}`;
  await readJsonLines(await send(path, { signal }, { accept: 'application/x-ndjson' }), onLines);
}

/** As the search cassette answers. */
export type SpanHit = {
  session_id: string;
  trace_id: string;
  span_id: string;
  /** Higher is better; compares hits of one answer only. */
  score: number;
  user_prompt: string;
  snippet: string;
  model: string;
  started_at: string;
  /** From 1, in each ranking that has it. */
  ranks?: { text?: number; vector?: number };
};

export type SpanHits = {
  results: SpanHit[];
  /** Absent where another process embeds. */
  coverage?: { embedded: number; pending: number; failed: number };
  /** There is no embedder now, so that words alone were looked for. */
  missing?: 'vector';
};

const MOST = '10';

/** By meaning and by words, ranked together. @param query as the cassette has it: `query`, and filters */
export async function findSpans(query: string, signal?: AbortSignal): Promise<SpanHits> {
  await requireCassette('search', signal);
  return request(`/v1/cassettes/search/spans?${query}&mode=hybrid&top_k=${MOST}`, { signal });
}
