/** GET /v1/find: where something was said, across sessions. */
import { createRoute } from '@hono/zod-openapi';
import type { Database } from '../db/database.ts';
import { readCursor, writeCursor } from '../http/cursor.ts';
import { Failure, guardedPayloads, json, routes } from '../http/routes.ts';
import { FindPage, FindQuery } from '../model/find.ts';
import type { FindCoverage } from './find-coverage.ts';
import { FIRST_PAGE, FindCursor, MOST_HITS, unseenHits } from './find-pages.ts';

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

type Deps = { execute: Database['execute']; coverage: () => Promise<FindCoverage> };

export const findApp = ({ execute, coverage }: Deps) =>
  routes().openapi(find, async (c) => {
    const { text, in: places, limit, cursor, ...filters } = c.req.valid('query');
    const filter = { ...filters, status: filters.status ?? null };
    const list = { route: '/v1/find', parameters: { text, places: places.join(), filter: JSON.stringify(filter) } };
    const { amends = null, ...page } = readCursor(list, cursor, FindCursor) ?? FIRST_PAGE;
    const { skip } = page;
    const { findAcross } = await import('../engine/find/find-across.ts');
    const wanted = Math.min(skip + limit + 1, MOST_HITS);
    const { hits, replaced, ...search } = await findAcross(execute, { text, places, filter, skip, wanted, amends });
    const { unseen, cursorAfter } = unseenHits(hits, page);
    const items = unseen.slice(0, limit);
    const hasMore = (unseen.length > items.length || search.isCut) && skip + items.length < MOST_HITS;
    return c.json(
      {
        items,
        ...(await coverage()),
        substrings: true,
        ...(replaced.length > 0 ? { replaced_words: replaced } : {}),
        ...(hasMore ? { next_cursor: writeCursor(list, cursorAfter(items, search.amends)) } : {}),
      },
      200,
    );
  });
