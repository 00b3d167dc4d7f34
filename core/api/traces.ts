/** GET /v1/traces and all below it, and /v1/sessions/{id}/traces: traces with their spans and links. */
import { createRoute, z } from '@hono/zod-openapi';
import type { Database } from '../db/database.ts';
import { Refusal } from '../errors.ts';
import { readCursor, writeCursor } from '../http/cursor.ts';
import { jsonStream } from '../http/json-stream.ts';
import { Failure, guardedPayloads, guardedRead, json, routes } from '../http/routes.ts';
import type { Logger } from '../log.ts';
import { Cursor, Id, KeyInstant, Limit, Payload } from '../model/page.ts';
import { shownSession } from '../model/session.ts';
import { Span } from '../model/span.ts';
import { SCHEMA, SessionDocument, TraceDocument, TracePage } from '../model/trace.ts';
import { sessionOf } from './sessions.ts';
import { PAGE_ROWS, sessionDocument, traceDocument } from './trace-document.ts';

const NO_TRACE = ['trace-unknown', 'Cannot read the trace: there is none with this id'] as const;
const NO_SPAN = ['span-unknown', 'Cannot read the span: the trace has none with this id'] as const;

const listTraces = createRoute({
  method: 'get',
  path: '/v1/traces',
  operationId: 'listTraces',
  tags: ['traces'],
  summary: 'Traces of all sessions or of one, the newest first; without their spans',
  request: { query: z.object({ limit: Limit, cursor: Cursor, session_id: Id.optional() }) },
  responses: {
    200: json(TracePage, 'One page of traces'),
    400: json(Failure, 'Bad limit, cursor or session_id', [
      'bad-request',
      'Cannot read the query: "limit" must be a positive whole number',
    ]),
    404: json(Failure, 'No such session'),
    ...guardedRead,
  },
});

const readSessionTraces = createRoute({
  method: 'get',
  path: '/v1/sessions/{id}/traces',
  operationId: 'readSessionTraces',
  tags: ['sessions'],
  summary: 'Everything that was derived of a session: its traces with their spans, and the links between them',
  request: { params: z.object({ id: Id }), query: z.object({ payload: Payload }) },
  responses: {
    200: json(SessionDocument, 'The whole session, streamed'),
    400: json(Failure, 'Unknown payload', [
      'bad-request',
      'Cannot read the query: "payload" Invalid option: expected one of "full"|"preview"',
    ]),
    404: json(Failure, 'No such session'),
    ...guardedPayloads,
  },
});

const readTrace = createRoute({
  method: 'get',
  path: '/v1/traces/{trace_id}',
  operationId: 'readTrace',
  tags: ['traces'],
  summary: 'One trace with its spans and the links that touch it',
  request: { params: z.object({ trace_id: Id }), query: z.object({ payload: Payload }) },
  responses: {
    200: json(TraceDocument, 'The trace, streamed'),
    400: json(Failure, 'Unknown payload', [
      'bad-request',
      'Cannot read the query: "payload" Invalid option: expected one of "full"|"preview"',
    ]),
    404: json(Failure, 'No such trace', NO_TRACE),
    ...guardedPayloads,
  },
});

const readSpan = createRoute({
  method: 'get',
  path: '/v1/traces/{trace_id}/spans/{span_id}',
  operationId: 'readSpan',
  tags: ['traces'],
  summary: 'One span with its whole payload',
  request: { params: z.object({ trace_id: Id, span_id: Id }) },
  responses: { 200: json(Span, 'The span'), 404: json(Failure, 'No such span', NO_SPAN), ...guardedPayloads },
});

const Key = z.object({ started_at: KeyInstant, trace_id: z.uuid() });

type Deps = { execute: Database['execute']; now: () => number; log: Logger };

export const tracesApp = ({ execute, now, log }: Deps) =>
  routes()
    .openapi(listTraces, async (c) => {
      const { limit, cursor, session_id } = c.req.valid('query');
      const list = { route: '/v1/traces', parameters: { session_id } };
      const after = readCursor(list, cursor, Key);
      if (session_id !== undefined) await sessionOf(execute, session_id);
      const { traces, next } = await execute('listTraces', { session_id: session_id ?? null, after, limit });
      return c.json(
        { schema: SCHEMA, items: traces, ...(next ? { next_cursor: writeCursor(list, next) } : {}) } as const,
        200,
      );
    })
    .openapi(readSessionTraces, async (c) => {
      const { payload } = c.req.valid('query');
      const start = await execute('sessionStart', { session_id: c.req.valid('param').id, payload, limits: PAGE_ROWS });
      if (!start) throw new Refusal('session-unknown', 'Cannot read the session: there is none with this id');
      const session = shownSession(start.session, now());
      return jsonStream<never>(c, sessionDocument(execute, session, start, payload), log);
    })
    .openapi(readTrace, async (c) => {
      const { payload } = c.req.valid('query');
      const start = await execute('traceStart', { ...c.req.valid('param'), payload, limits: PAGE_ROWS });
      if (!start) throw new Refusal(...NO_TRACE);
      return jsonStream<never>(c, traceDocument(execute, start, payload), log);
    })
    .openapi(readSpan, async (c) => {
      const span = await execute('readSpan', c.req.valid('param'));
      if (!span) throw new Refusal(...NO_SPAN);
      return c.json(span, 200);
    });
