/** The half of a search that finds words: the core's own index of texts, with the places at which they are. */
import { z } from '@hono/zod-openapi';
import type { Env } from '../../core/cassette/contract.ts';
import { readCore } from './core-reads.ts';
import type { SearchFilter } from './filter.ts';
import type { SearchConfig } from './manifest.ts';

const MOST_TEXT = 1_024; // characters that the core looks for
const PAGE = 50;
const MOST_PAGES = 4;

export const Match = z
  .object({
    side: z.enum(['input', 'output', 'error', 'prompt']),
    block: z.int().describe('of `input` or `output` of the span'),
    start: z.int().describe('UTF-16 units of the text of the block'),
    end: z.int(),
    before: z.string(),
    match: z.string(),
    after: z.string(),
  })
  .openapi('SpanMatch');

const Hit = z.object({
  session_id: z.string(),
  trace_id: z.string(),
  span_id: z.string(),
  kind: z.string(),
  name: z.string(),
  model: z.string(),
  at: z.string(),
  score: z.number(),
  matches: z.array(Match),
});
export type TextHit = z.infer<typeof Hit>;

const Page = z.object({
  items: z.array(Hit),
  spans: z.int(),
  spans_indexed: z.int(),
  next_cursor: z.string().optional(),
});

export type TextHits = { hits: TextHit[]; spans: number; spans_indexed: number };

/**
 * The spans that have the words, the best first, each once.
 * @param most how many at most
 * @throws {SearchOff} the core cannot be asked @throws {CoreBusy | CoreFailed}
 */
export async function textHits(
  env: Env<SearchConfig>,
  query: string,
  filter: SearchFilter,
  most: number,
): Promise<TextHits> {
  const hits = new Map<string, TextHit>();
  const found = { spans: 0, spans_indexed: 0 };
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES && hits.size < most; page++) {
    const parameters = {
      ...filter,
      text: query.trim().slice(0, MOST_TEXT),
      limit: String(Math.min(PAGE, most)),
      cursor,
    };
    const { items, next_cursor, ...counts } = Page.parse(await readCore(env, '/v1/find', parameters));
    Object.assign(found, counts);
    for (const hit of items) {
      const key = `${hit.trace_id} ${hit.span_id}`;
      const earlier = hits.get(key); // one span can be found at several places
      if (earlier) earlier.matches.push(...hit.matches);
      else hits.set(key, hit);
    }
    cursor = next_cursor;
    if (cursor === undefined) break;
  }
  return { hits: [...hits.values()].slice(0, most), ...found };
}
