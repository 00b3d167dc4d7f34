/** GET /v1/browse/sessions and /v1/browse/facets: sessions that match filters, and the values by which they can be filtered. */
import { createRoute, z } from '@hono/zod-openapi';
import type { Database } from '../db/database.ts';
import { readCursor, writeCursor } from '../http/cursor.ts';
import { Failure, guardedRead, json, routes } from '../http/routes.ts';
import { BrowseQuery, Facets, FacetsQuery, type SessionSort } from '../model/browse.ts';
import { KeyInstant } from '../model/page.ts';
import { SessionPage, shownSession } from '../model/session.ts';

const browseSessions = createRoute({
  method: 'get',
  path: '/v1/browse/sessions',
  operationId: 'browseSessions',
  tags: ['sessions'],
  summary: 'Sessions that match all filters, in one of six orders',
  request: { query: BrowseQuery },
  responses: {
    200: json(SessionPage, 'One page of sessions'),
    400: json(Failure, 'Bad filter, order, limit or cursor', [
      'bad-request',
      'Cannot read the query: "limit" must be a positive whole number',
    ]),
    ...guardedRead,
  },
});

const browseFacets = createRoute({
  method: 'get',
  path: '/v1/browse/facets',
  operationId: 'browseFacets',
  tags: ['sessions'],
  summary: 'The values of an attribute among the sessions that match all other filters, with their counts',
  request: { query: FacetsQuery },
  responses: {
    200: json(Facets, 'The values, at most `limit` of them'),
    400: json(Failure, 'No field, or a bad filter or limit', [
      'bad-request',
      'Cannot read the query: "field" must be one of project, agent_name, model, provider, harness_id',
    ]),
    ...guardedRead,
  },
});

const decimal = z.string().regex(/^(-?\d{1,50}(\.\d{1,100})?|-?Infinity)$/);

/** How a cursor writes the sort value of each order. */
const PLACE_SCHEMA: Record<SessionSort, z.ZodType<string>> = {
  last_active: KeyInstant,
  started_at: KeyInstant,
  turn_count: z.string().regex(/^\d{1,9}$/),
  total_cost: decimal,
  total_tokens: decimal,
  duration: z.string().regex(/^-?\d{1,18}$/), // a clock that was set back makes it negative
};

/** @param now milliseconds since 1970, for what is live */
export const browseApp = ({ execute, now }: { execute: Database['execute']; now: () => number }) =>
  routes()
    .openapi(browseFacets, async (c) => {
      const { field, limit, ...filter } = c.req.valid('query');
      return c.json({ items: await execute('browseFacets', { field, filter, limit }) }, 200);
    })
    .openapi(browseSessions, async (c) => {
      const { limit, cursor, sort, direction, ...filter } = c.req.valid('query');
      const list = { route: '/v1/browse/sessions', parameters: { filter: JSON.stringify(filter), sort, direction } };
      const after = readCursor(list, cursor, z.object({ place: PLACE_SCHEMA[sort], id: z.uuid() }));
      const { sessions, next } = await execute('browseSessions', { filter, sort, direction, after, limit });
      const items = sessions.map((session) => shownSession(session, now()));
      return c.json({ items, ...(next ? { next_cursor: writeCursor(list, next) } : {}) }, 200);
    });
