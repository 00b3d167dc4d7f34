/** The pages of a search: each hit is on one of them, wherever it stands by now. Both /v1/find and svc_find cut theirs by these. */
import { createHash } from 'node:crypto';
import { z } from '@hono/zod-openapi';
import type { FindHit } from '../model/find.ts';

/** A search reads what it shows, so that pages further down are made of the first ones. */
export const MOST_HITS = 200;
/** Of the hash that marks a hit in a cursor: of 200, one in fifty million searches would take two for the same. */
const MARK_BYTES = 5;

/**
 * What a cursor holds. `amends`: as the first page has it; `shown`: the marks of the hits so far, which may stand elsewhere by now, since
 * what is recorded meanwhile comes in at the top, or between them. Both are absent in the cursors of former versions.
 */
export const FindCursor = z.object({
  skip: z.int().min(1).max(MOST_HITS),
  amends: z.boolean().optional(),
  shown: z
    .string()
    .regex(/^[\w-]*$/)
    .max(2 * MOST_HITS * MARK_BYTES)
    .optional(),
});
export type FindCursor = z.infer<typeof FindCursor>;

export const FIRST_PAGE: FindCursor = { skip: 0, shown: '' };

/** @param found all hits so far, in their order by now @returns those of them that no page before has shown, and the cursor behind some of these */
export function unseenHits(found: readonly FindHit[], { skip, shown }: Pick<FindCursor, 'skip' | 'shown'>) {
  const before = new Set(shown === undefined ? found.slice(0, skip).map(markOf) : marksIn(shown));
  return {
    unseen: found.filter((hit) => !before.has(markOf(hit))),
    cursorAfter: (items: readonly FindHit[], amends: boolean): FindCursor => ({
      skip: skip + items.length,
      amends,
      shown: Buffer.from([...before, ...items.map(markOf)].join(''), 'hex').toString('base64url'),
    }),
  };
}

/** The same for a hit wherever it stands. A span has one in each place, and in prompts one in each block. */
const markOf = ({ trace_id, span_id, place, matches }: FindHit): string =>
  createHash('sha256')
    .update([trace_id, span_id, place, ...(place === 'prompt' ? [matches[0]?.block] : [])].join(' '))
    .digest('hex')
    .slice(0, 2 * MARK_BYTES);

const marksIn = (shown: string): string[] =>
  Buffer.from(shown, 'base64url')
    .toString('hex')
    .match(new RegExp(`.{${2 * MARK_BYTES}}`, 'g')) ?? [];
