/** GET /v1/find: where something was said, across sessions. */
import { createRoute, z } from '@hono/zod-openapi';
import type { Database } from '../db/database.ts';
import { readCursor, writeCursor } from '../http/cursor.ts';
import { Failure, guardedPayloads, json, routes } from '../http/routes.ts';
import { FindPage, FindQuery } from '../model/find.ts';
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
/** `amends`: as the first page has it, absent in the cursors of former versions. */
const Skipped = z.object({ skip: z.int().min(1).max(MOST_HITS), amends: z.boolean().optional() });

type Deps = { execute: Database['execute']; coverage: () => Promise<FindCoverage> };

export const findApp = ({ execute, coverage }: Deps) =>
  routes().openapi(find, async (c) => {
    const { text, in: places, limit, cursor, ...filters } = c.req.valid('query');
    const filter = { ...filters, status: filters.status ?? null };
    const list = { route: '/v1/find', parameters: { text, places: places.join(), filter: JSON.stringify(filter) } };
    const { skip, amends = null } = readCursor(list, cursor, Skipped) ?? { skip: 0 };
    const { findAcross } = await import('../engine/find/find-across.ts');
    const wanted = Math.min(skip + limit + 1, MOST_HITS);
    const { hits, replaced, ...search } = await findAcross(execute, { text, places, filter, skip, wanted, amends });
    const items = hits.slice(skip, skip + limit);
    const next = skip + items.length;
    const hasMore = (hits.length > next || search.isCut) && next < MOST_HITS;
    return c.json(
      {
        items,
        ...(await coverage()),
        substrings: true,
        ...(replaced.length > 0 ? { replaced_words: replaced } : {}),
        ...(hasMore ? { next_cursor: writeCursor(list, { skip: next, amends: search.amends }) } : {}),
      },
      200,
    );
  });
