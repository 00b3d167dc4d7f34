/** The rejections of this listener: one sentence in the field `error` and nothing beside it, whatever the status. */
import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Failures } from '../core/http/contract-responses.ts';
import { lingering } from '../core/http/linger.ts';
import type { ProblemResponder } from '../core/http/problem.ts';
import type { HttpEnv } from '../core/http/routes.ts';

export const Rejection = z
  .object({ error: z.string() })
  .openapi('Rejection', { examples: [{ error: 'Cannot find the path: nothing is served there' }] });

/** The format of all rejections, and an example of each status, for the contract. */
export const REJECTIONS: Failures = {
  type: 'application/json',
  schema: 'Rejection',
  example: (status, _method, routeExample) => ({
    error: typeof routeExample === 'string' ? routeExample : (EXAMPLES[status] ?? ''),
  }),
};

/** The sentences as the code has them; a test requests each. */
const EXAMPLES: Record<number, string> = {
  400: 'Cannot read the request: it is malformed',
  403: 'Cannot answer as "evil.example": it is neither loopback nor among allowed_hosts',
  408: 'Cannot read the request: it came too slowly',
  413: 'request body exceeds the ingest size limit',
  415: 'Cannot read the body: its content type is not application/json',
  422: 'Cannot read the turn: neither raw_response nor response gives an answer (kept as raw turn 12)',
  431: 'Cannot read the request: its head is too large',
  500: 'Internal error',
  503: 'Cannot keep the turn: the database is not available',
};

/** The envelope of every rejection. */
export const rejection: ProblemResponder = (c, status, _code, error) => c.json({ error }, status);

/** A rejection that is sent before the body has been read: what the client is still sending is read and dropped. */
export const rejectUnread = (c: Context<HttpEnv>, status: ContentfulStatusCode, error: string): Response => {
  const text = JSON.stringify({ error });
  // A client that waits for `100 Continue` cannot know whether the body is still wanted, so the connection carries no further request.
  if (c.req.header('expect') !== undefined) c.header('connection', 'close');
  const { incoming } = c.env ?? {};
  return c.body(incoming ? lingering(text, incoming) : text, status, {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
  });
};
