/** GET /v1/admin/purge/sessions: what a purge by project or time would remove. POST /v1/admin/purge/parked-turns: turns that were set aside. */
import { createRoute } from '@hono/zod-openapi';
import type { Database } from '../db/database.ts';
import { optionalBody } from '../http/optional-body.ts';
import { Failure, guarded, json, routes } from '../http/routes.ts';
import { ParkedPurged, PurgeList, PurgeListQuery, PurgeParkedRequest } from '../model/purge-list.ts';

const list = createRoute({
  method: 'get',
  path: '/v1/admin/purge/sessions',
  operationId: 'listSessionsToPurge',
  tags: ['operator'],
  summary: 'The sessions of a project or a time that still have raw turns, deleted ones too',
  request: { query: PurgeListQuery },
  responses: {
    200: json(PurgeList, 'One page, in the order of their ids'),
    400: json(Failure, 'A parameter is malformed', ['bad-request', 'Cannot read the query: "after" Invalid UUID']),
    ...guarded,
  },
});

const parked = createRoute({
  method: 'post',
  path: '/v1/admin/purge/parked-turns',
  operationId: 'purgeParkedTurns',
  tags: ['operator'],
  summary: 'Deletes turns that were set aside unread; there is no way back',
  request: { body: { required: true, content: { 'application/json': { schema: PurgeParkedRequest } } } },
  responses: {
    200: json(ParkedPurged, 'What went'),
    400: json(Failure, 'No ids, or too many', [
      'bad-request',
      'Cannot read the body: "ids" Invalid input: expected array, received undefined',
    ]),
    413: json(Failure, 'The body is too large'),
    415: json(Failure, 'The body is not JSON'),
    ...guarded,
  },
});

const PAGE = 200;

const MOST_BYTES = 512 * 1024;

export const purgeListApp = ({ execute }: { execute: Database['execute'] }) => {
  const app = routes();
  app.use(parked.path, optionalBody(MOST_BYTES));
  return app
    .openapi(list, async (c) => {
      const { session_id = null, project, before, since, after = null } = c.req.valid('query');
      const items = await execute('sessionsToPurge', { session_id, project, before, since, after, limit: PAGE });
      return c.json({ items, next: items.length === PAGE ? (items.at(-1)?.session_id ?? null) : null }, 200);
    })
    .openapi(parked, async (c) => {
      const parked_turns = await execute('purgeParked', { ids: c.req.valid('json').ids });
      return c.json({ parked_turns, rewritten: await execute('sweepPurged', {}) }, 200);
    });
};
