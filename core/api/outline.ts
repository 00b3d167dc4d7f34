/** GET /v1/sessions/{id}/outline: what a session consists of, without its texts; the whole of it, or what changed. */
import { createRoute, z } from '@hono/zod-openapi';
import type { Database } from '../db/database.ts';
import { Refusal } from '../errors.ts';
import { readCursor, writeCursor } from '../http/cursor.ts';
import type { JsonAnswer } from '../http/json-stream.ts';
import { Failure, guardedRead, json, routes } from '../http/routes.ts';
import { OUTLINE_SCHEMA, Outline } from '../model/outline.ts';
import { Cursor, Id, KeyInstant, limitOf } from '../model/page.ts';

/** Written as a string on the wire, so the number is made here. */
const Revision = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a revision, as `rev` gives it')
  .default('0')
  .transform(Number)
  .openapi({
    type: 'string',
    pattern: '^\\d{1,15}$',
    default: '0',
    description: '`rev` of the answer that the reader has; 0: none',
  });

const PAGE_SPANS = 20_000;

const Spans = limitOf('spans in a page, and each page may have its own number', {
  usual: PAGE_SPANS,
  largest: PAGE_SPANS,
});

const Order = z
  .enum(['newest', 'oldest'])
  .default('newest')
  .openapi({ description: 'which traces come first; of each, its spans come in the order of the walk' });

const Around = z
  .uuid()
  .optional()
  .openapi({ description: 'a span: only the part that has it in the middle, without the rest of the outline' });

const readOutline = createRoute({
  method: 'get',
  path: '/v1/sessions/{id}/outline',
  operationId: 'readOutline',
  tags: ['sessions'],
  summary: 'All traces, spans and links of a session without their texts, or what changed of them',
  description: [
    'Columns of equal length, newest traces first unless `order` says otherwise. With `after` only what changed since that revision:',
    'spans replace those with the same ids, traces too, and links those of the spans here. Where rows were removed, everything comes',
    'again, and `whole` is true. With `around` only some spans before and after one, as many as `limit` says, to be shown until the whole is read:',
    '`whole` is false and `rev` is 0, since the reader has nothing else. What has not been derived by the current rules yet has empty labels and',
    'counts of 0.',
  ].join(' '),
  request: {
    params: z.object({ id: Id }),
    query: z.object({ after: Revision, order: Order, limit: Spans, around: Around, cursor: Cursor }),
  },
  responses: {
    200: json(Outline, 'One page of the outline'),
    400: json(Failure, 'Bad after, order, limit, around or cursor', [
      'bad-request',
      'Cannot read the query: "after" must be a revision, as `rev` gives it',
    ]),
    404: json(Failure, 'No such session, or it has no such span'),
    ...guardedRead,
  },
});

const Seq = z.int().min(0).max(2_147_483_647);
const Rev = z.int().min(0);
const Rest = z.object({
  key: z.object({ started_at: KeyInstant, trace_id: z.uuid(), seq: Seq, span_id: z.uuid() }),
  since: Rev.nullable(),
  rev: Rev,
});

/** @param pageSpans how many spans one page may have at most */
export const outlineApp = ({
  execute,
  pageSpans = PAGE_SPANS,
}: {
  execute: Database['execute'];
  pageSpans?: number | undefined;
}) =>
  routes().openapi(readOutline, async (c) => {
    const { id: session_id } = c.req.valid('param');
    const { after, order, limit, around = null, cursor } = c.req.valid('query');
    if (around !== null && (after > 0 || cursor !== undefined))
      throw new Refusal('bad-request', 'Cannot read the query: "around" goes with neither "after" nor "cursor"');
    const list = { route: '/v1/sessions/{id}/outline', parameters: { id: session_id, after: String(after), order } };
    const rest = readCursor(list, cursor, Rest);
    const page = await execute('outline', {
      session_id,
      after,
      order,
      rest,
      around,
      limit: Math.min(limit, pageSpans),
    });
    if (!page) throw new Refusal('session-unknown', 'Cannot read the session: there is none with this id');
    const { rev, whole, members, next } = page;
    const start = JSON.stringify({ schema: OUTLINE_SCHEMA, rev: String(rev), whole }).slice(0, -1);
    const end = next ? `,"next_cursor":${JSON.stringify(writeCursor(list, next))}` : '';
    return c.body(`${start},${members}${end}}`, 200, {
      'content-type': 'application/json',
    }) as unknown as JsonAnswer<Outline>;
  });
