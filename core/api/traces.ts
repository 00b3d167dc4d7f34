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
import { SCHEMA, SessionDocument, SpanWindow, TraceDocument, TracePage } from '../model/trace.ts';
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

const LARGEST_SEQ = 2_147_483_647;

/** Written as a string on the wire, so the number is made here. */
const FromSeq = z
  .string()
  .regex(/^\d{1,10}$/, 'must be a whole number')
  .transform((digits) => Math.min(Number(digits), LARGEST_SEQ))
  .optional()
  .openapi({ type: 'integer', minimum: 0, description: 'the place of the first span; absent: 0, or see `around`' });

const Around = z
  .uuid()
  .optional()
  .openapi({ description: 'a span of the trace: the window begins half of its limit before it; not with `from_seq`' });

const readSpans = createRoute({
  method: 'get',
  path: '/v1/traces/{trace_id}/spans',
  operationId: 'readSpans',
  tags: ['traces'],
  summary:
    'Some spans of a trace, in the order of the walk; their payloads are shortened unless they are requested whole',
  request: {
    params: z.object({ trace_id: Id }),
    query: z.object({
      from_seq: FromSeq,
      around: Around,
      limit: Limit,
      payload: Payload.unwrap().default('preview').describe('preview: strings are cut, images left out'),
    }),
  },
  responses: {
    200: json(SpanWindow, 'A window of the trace'),
    400: json(Failure, 'Bad from_seq, around, limit or payload', [
      'bad-request',
      'Cannot read the query: "from_seq" must be a whole number',
    ]),
    404: json(Failure, 'No such trace, or no such span in it', NO_TRACE),
    ...guardedPayloads,
  },
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
    .openapi(readSpans, async (c) => {
      const { trace_id } = c.req.valid('param');
      const { from_seq, around, limit, payload } = c.req.valid('query');
      if (from_seq !== undefined && around !== undefined)
        throw new Refusal('bad-request', 'Cannot read the query: "from_seq" and "around" exclude each other');
      const center = around === undefined ? null : await execute('placeOfSpan', { trace_id, span_id: around });
      if (around !== undefined && !center) throw new Refusal(...NO_SPAN);
      const first = center ? Math.max(0, center.seq - Math.floor(limit / 2)) : (from_seq ?? 0);
      const window = await execute('spanWindow', { trace_id, from_seq: first, limit, payload });
      if (!window) throw new Refusal(...NO_TRACE);
      const { spans, next_seq } = window;
      return c.json({ schema: SCHEMA, items: spans, ...(next_seq === null ? {} : { next_seq }) } as const, 200);
    })
    .openapi(readSpan, async (c) => {
      const span = await execute('readSpan', c.req.valid('param'));
      if (!span) throw new Refusal(...NO_SPAN);
      return c.json(span, 200);
    });
