/** GET /v1/sessions and /v1/sessions/{id}: sessions with their identity, times and totals. */
import { createRoute, z } from '@hono/zod-openapi';
import type { Database } from '../db/database.ts';
import { Refusal } from '../errors.ts';
import { readCursor, writeCursor } from '../http/cursor.ts';
import { Failure, guardedRead, json, routes } from '../http/routes.ts';
import { Cursor, Id, KeyInstant, Limit } from '../model/page.ts';
import { SessionAnswer, SessionPage, shownSession } from '../model/session.ts';

const listSessions = createRoute({
  method: 'get',
  path: '/v1/sessions',
  operationId: 'listSessions',
  tags: ['sessions'],
  summary: 'Sessions, those seen last first',
  request: { query: z.object({ limit: Limit, cursor: Cursor }) },
  responses: {
    200: json(SessionPage, 'One page of sessions'),
    400: json(Failure, 'Bad limit or cursor', [
      'bad-request',
      'Cannot read the query: "limit" must be a positive whole number',
    ]),
    ...guardedRead,
  },
});

const readSession = createRoute({
  method: 'get',
  path: '/v1/sessions/{id}',
  operationId: 'readSession',
  tags: ['sessions'],
  summary: 'One session',
  request: { params: z.object({ id: Id }) },
  responses: { 200: json(SessionAnswer, 'The session'), 404: json(Failure, 'No such session'), ...guardedRead },
});

const LIST = { route: '/v1/sessions' };
const Key = z.object({ last_seen_at: KeyInstant, id: z.uuid() });

/** @param now milliseconds since 1970, for what is live */
export const sessionsApp = ({ execute, now }: { execute: Database['execute']; now: () => number }) =>
  routes()
    .openapi(listSessions, async (c) => {
      const { limit, cursor } = c.req.valid('query');
      const { sessions, next } = await execute('listSessions', { after: readCursor(LIST, cursor, Key), limit });
      const items = sessions.map((session) => shownSession(session, now()));
      return c.json({ items, ...(next ? { next_cursor: writeCursor(LIST, next) } : {}) }, 200);
    })
    .openapi(readSession, async (c) => {
      const session = await sessionOf(execute, c.req.valid('param').id);
      return c.json({ session: shownSession(session, now()) }, 200);
    });

/** @throws {Refusal} session-unknown */
export async function sessionOf(execute: Database['execute'], session_id: string) {
  const session = await execute('readSession', { session_id });
  if (!session) throw new Refusal('session-unknown', 'Cannot read the session: there is none with this id');
  return session;
}
