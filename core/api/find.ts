/** GET /v1/find: where something was said, across sessions. */
import { createHash } from 'node:crypto';
import { createRoute, z } from '@hono/zod-openapi';
import type { Database } from '../db/database.ts';
import { readCursor, writeCursor } from '../http/cursor.ts';
import { Failure, guardedPayloads, json, routes } from '../http/routes.ts';
import { type FindHit, FindPage, FindQuery } from '../model/find.ts';
import type { FindCoverage } from './find-coverage.ts';

const find = createRoute({
  method: 'get',
  path: '/v1/find',
  operationId: 'find',
  tags: ['sessions'],
  summary: 'Where a text stands, across sessions: words, identifiers and parts of them, in any language',
  description: [
    'Best first: the text as it is written, then all of its words, then parts of words, then some of them; of equal hits the newest.',
    'A word of six letters or more that no text has is found as the nearest one, and `replaced_words` says so.',
    'Each hit was compared with the text itself. An index is filled behind derivation, and of each text it has the first 32,768',
    'characters; GET /v1/sessions/{id}/find looks through everything.',
  ].join(' '),
  request: { query: FindQuery },
  responses: {
    200: json(FindPage, 'One page of hits'),
    400: json(Failure, 'No text, or a bad place, filter, limit or cursor', [
      'bad-request',
      'Cannot read the query: "in" must be one of conversation, tools, thinking, prompt, or some of them with commas between',
    ]),
    ...guardedPayloads,
  },
});

/** A search reads what it shows, so that pages further down are made of the first ones. */
const MOST_HITS = 200;
/** Of the hash that marks a hit in a cursor: of 200, one in ten million searches would take two for the same. */
const MARK_BYTES = 5;
/**
 * `amends`: as the first page has it; `shown`: the marks of the hits so far, which may stand elsewhere by now, since what is recorded
 * meanwhile comes in at the top, or between them. Both are absent in the cursors of former versions.
 */
const Skipped = z.object({
  skip: z.int().min(1).max(MOST_HITS),
  amends: z.boolean().optional(),
  shown: z
    .string()
    .regex(/^[\w-]*$/)
    .max(2 * MOST_HITS * MARK_BYTES)
    .optional(),
});

type Deps = { execute: Database['execute']; coverage: () => Promise<FindCoverage> };

export const findApp = ({ execute, coverage }: Deps) =>
  routes().openapi(find, async (c) => {
    const { text, in: places, limit, cursor, ...filters } = c.req.valid('query');
    const filter = { ...filters, status: filters.status ?? null };
    const list = { route: '/v1/find', parameters: { text, places: places.join(), filter: JSON.stringify(filter) } };
    const { skip, amends = null, shown } = readCursor(list, cursor, Skipped) ?? { skip: 0, shown: '' };
    const { findAcross } = await import('../engine/find/find-across.ts');
    const wanted = Math.min(skip + limit + 1, MOST_HITS);
    const { hits, replaced, ...search } = await findAcross(execute, { text, places, filter, skip, wanted, amends });
    const before = new Set(shown === undefined ? hits.slice(0, skip).map(markOf) : marksIn(shown));
    const unseen = hits.filter((hit) => !before.has(markOf(hit)));
    const items = unseen.slice(0, limit);
    const next = skip + items.length;
    const hasMore = (unseen.length > items.length || search.isCut) && next < MOST_HITS;
    const marks = () => Buffer.from([...before, ...items.map(markOf)].join(''), 'hex').toString('base64url');
    return c.json(
      {
        items,
        ...(await coverage()),
        substrings: true,
        ...(replaced.length > 0 ? { replaced_words: replaced } : {}),
        ...(hasMore ? { next_cursor: writeCursor(list, { skip: next, amends: search.amends, shown: marks() }) } : {}),
      },
      200,
    );
  });

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
