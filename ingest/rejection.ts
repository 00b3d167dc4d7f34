/** How does this listener say no? One sentence in the field `error` and nothing beside it, whatever the status. (Seed, 'Errors'.) */
import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Answer } from '../core/http/problem.ts';
import type { HttpEnv } from '../core/http/routes.ts';
import { lingering } from './linger.ts';

export const Rejection = z
  .object({ error: z.string() })
  .openapi('Rejection', { examples: [{ error: 'Cannot find the path: nothing is served there' }] });

/** The envelope of every rejection. */
export const rejection: Answer = (c, status, _code, error) => c.json({ error }, status);

/** A rejection of which the client may know before its body has been read: what it is still sending is taken and dropped. */
export const rejectUnread = (c: Context<HttpEnv>, status: ContentfulStatusCode, error: string): Response => {
  const text = JSON.stringify({ error });
  // Who waits to be asked for the body cannot tell whether it is still wanted, so that connection carries no further request.
  if (c.req.header('expect') !== undefined) c.header('connection', 'close');
  const { incoming } = c.env ?? {};
  return c.body(incoming ? lingering(text, incoming) : text, status, {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
  });
};
