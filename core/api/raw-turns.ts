/** GET /v1/sessions/{id}/raw_turns: the raw turns of a session, and on request their exact bytes. */
import { createRoute, z } from '@hono/zod-openapi';
import type { Database } from '../db/database.ts';
import { turnBytes } from '../db/read/raw-turn-bytes.ts';
import { rawTurnStream } from '../db/read/raw-turn-stream.ts';
import { openStoredSlices } from '../engine/cached-slices.ts';
import { readCursor, writeCursor } from '../http/cursor.ts';
import { jsonStream } from '../http/json-stream.ts';
import { Failure, guardedPayloads, json, routes } from '../http/routes.ts';
import type { Logger } from '../log.ts';
import { Cursor, Id, Limit } from '../model/page.ts';
import { RawTurnPage } from '../model/raw-turn.ts';
import { rawTurnDocument, type TurnPayload } from './raw-turn-document.ts';
import { sessionOf } from './sessions.ts';

const listRawTurns = createRoute({
  method: 'get',
  path: '/v1/sessions/{id}/raw_turns',
  operationId: 'listRawTurns',
  tags: ['sessions'],
  summary: 'Raw turns of a session in the order in which they were stored; with include=payload their exact bytes too',
  request: {
    params: z.object({ id: Id }),
    query: z.object({
      limit: Limit,
      cursor: Cursor,
      include: z.enum(['payload']).optional().describe('payload: what passed, byte for byte'),
    }),
  },
  responses: {
    200: json(RawTurnPage, 'One page of raw turns, streamed'),
    400: json(Failure, 'Bad limit, cursor or include', [
      'bad-request',
      'Cannot read the query: "limit" must be a positive whole number',
    ]),
    404: json(Failure, 'No such session'),
    ...guardedPayloads,
  },
});

const Key = z.int().nonnegative();

export const rawTurnsApp = ({ execute, log }: { execute: Database['execute']; log: Logger }) =>
  routes().openapi(listRawTurns, async (c) => {
    const { limit, cursor, include } = c.req.valid('query');
    const { id } = c.req.valid('param');
    const list = { route: '/v1/sessions/{id}/raw_turns', parameters: { id: id.toLowerCase() } };
    const after = readCursor(list, cursor, Key);
    await sessionOf(execute, id);
    const { raw_turns, next } = await execute('listRawTurns', { session_id: id, after, limit });
    const next_cursor = next === null ? null : writeCursor(list, next);
    const bytesOf = include === 'payload' ? payloads(execute) : null;
    return jsonStream<never>(c, rawTurnDocument(raw_turns, next_cursor, bytesOf), log);
  });

/** For one page: what a request repeats of the one before it is read once. */
function payloads(execute: Database['execute']): (raw_turn_id: number) => Promise<TurnPayload | null> {
  const slices = openStoredSlices({ execute });
  return async (raw_turn_id) => {
    const [parts] = await execute('turnParts', { raw_turn_ids: [raw_turn_id] });
    if (!parts) return null;
    return parts.request_is_utf8 ? rawTurnStream(parts, slices) : turnBytes(parts, slices);
  };
}
