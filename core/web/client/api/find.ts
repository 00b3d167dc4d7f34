/** Reads of what finds: where an id belongs, the steps that hold a text, those of one session, and those that mean it. */
import type { FindLine, FindPage } from '../../../model/find.ts';
import type { Place } from '../../../model/place.ts';
import { readJsonLines } from './json-lines.ts';
import { ProblemError } from './problem-error.ts';
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
export type SearchHit = {
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

export type SearchHits = {
  results: SearchHit[];
  /** Absent where another process embeds. */
  coverage?: { embedded: number; pending: number; failed: number };
  /** Of hybrid. vector: there is no embedder now; text: the cassette cannot read the API. The other half alone was looked for. */
  missing?: 'vector' | 'text';
};

const MOST = '10';

/** By meaning and by words, ranked together; by meaning alone where that is all that it can. @param query as the cassette has it: `query`, and filters */
export async function findSpans(query: string, signal?: AbortSignal): Promise<SearchHits> {
  const { bindings } = await requireCassette('search', signal);
  const path = `/v1/cassettes/search/spans?${query}&top_k=${MOST}`;
  const byMeaning = async () => ({ ...(await request<SearchHits>(path, { signal })), missing: 'text' as const });
  if (bindings?.includes('core') === false) return byMeaning();
  try {
    return await request(`${path}&mode=hybrid`, { signal });
  } catch (error) {
    if (error instanceof ProblemError && error.code === 'search-unconfigured') return byMeaning(); // may be granted, and not be there
    throw error;
  }
}
