/** GET /v1/sessions/{id}/cache and /v1/cache/breaks: where the prompt cache broke, why, and what it cost. */
import { createRoute, z } from '@hono/zod-openapi';
import type { Database } from '../db/database.ts';
import { Refusal } from '../errors.ts';
import { readCursor, writeCursor } from '../http/cursor.ts';
import { Failure, guardedPayloads, guardedRead, json, routes } from '../http/routes.ts';
import { BreaksPage, BreaksQuery, SessionCache } from '../model/cache-break.ts';
import { Id, KeyInstant } from '../model/page.ts';
import type { PriceOf } from '../price/prices.ts';
import { CACHE_RULES_VERSION } from '../prompt/rules-version.ts';

const readSessionCache = createRoute({
  method: 'get',
  path: '/v1/sessions/{id}/cache',
  operationId: 'readSessionCache',
  tags: ['sessions'],
  summary:
    'What a session read from the prompt cache and wrote to it, and each call that broke it, with the cause and the cost',
  description: [
    'Worked out from the prompts of all calls, as they were sent, and what the provider billed. A call breaks the cache when it',
    'reads over 1,024 tokens and over 2 % less than the provider held of what it sends again. The cause is named only where the',
    'bytes, the clock or the rules of the provider show it; all else is `unexplained`. Of a session of more than 10,000 calls, or',
    'whose prompts together have over 2,000,000 blocks or 2 GiB, only the first calls are read, and it is `truncated`.',
  ].join(' '),
  request: { params: z.object({ id: Id }) },
  responses: {
    200: json(SessionCache, 'Sums and breaks, in the order of time'),
    404: json(Failure, 'No such session'),
    ...guardedPayloads,
  },
});

const listCacheBreaks = createRoute({
  method: 'get',
  path: '/v1/cache/breaks',
  operationId: 'listCacheBreaks',
  tags: ['service'],
  summary: 'Breaks of the prompt cache over all sessions: sums by cause, project or harness, and each of them',
  description: [
    'Sessions are looked at behind derivation, once they have been idle for some seconds; `sessions_waiting` counts those whose',
    'latest calls are not in it yet. `limit` and `cursor` page the breaks; the groups are always those of all that match.',
  ].join(' '),
  request: { query: BreaksQuery },
  responses: {
    200: json(BreaksPage, 'Sums, and one page of breaks'),
    400: json(Failure, 'Bad filter, limit or cursor', [
      'bad-request',
      'Cannot read the query: "by" Invalid option: expected one of "cause"|"project"|"harness"',
    ]),
    ...guardedRead,
  },
});

const Key = z.object({ at: KeyInstant, session_id: z.uuid(), raw_turn_id: z.int().min(0) });

type Deps = { execute: Database['execute']; priceOf: PriceOf };

export const cacheApp = ({ execute, priceOf }: Deps) =>
  routes()
    .openapi(readSessionCache, async (c) => {
      const { id: session_id } = c.req.valid('param');
      if (!(await execute('readSession', { session_id })))
        throw new Refusal('session-unknown', 'Cannot read the session: there is none with this id');
      const { READ_AT_ONCE, sessionCache } = await import('../engine/cache/session-cache.ts'); // not needed at the start
      const options = { priceOf, signal: c.req.raw.signal, most: READ_AT_ONCE };
      const { contradictions: _, ...cache } = await sessionCache(execute, session_id, options);
      return c.json(cache, 200);
    })
    .openapi(listCacheBreaks, async (c) => {
      const { limit, cursor, ...filter } = c.req.valid('query');
      const list = { route: '/v1/cache/breaks', parameters: { filter: JSON.stringify(filter) } };
      const after = readCursor(list, cursor, Key);
      const {
        next,
        totals: _,
        ...page
      } = await execute('listBreaks', {
        ...{ filter, rules: CACHE_RULES_VERSION, after, limit },
      });
      return c.json({ ...page, ...(next ? { next_cursor: writeCursor(list, next) } : {}) }, 200);
    });
