/** Bodies that may be left out. An absent or empty one counts as `{}`; any other has to be small and declared as JSON. */
import type { MiddlewareHandler } from 'hono';
import { Refusal } from '../errors.ts';
import { bodyText } from './body-text.ts';
import { LINGER_BYTES } from './linger.ts';

const MOST_BYTES = 4_096;

/**
 * Middleware for a route whose JSON body is not required. Without it a body of another content type would be ignored silently,
 * and a client that names the content type and sends nothing would get an error about malformed JSON.
 */
export const optionalBody =
  (mostBytes = MOST_BYTES): MiddlewareHandler =>
  async (c, next) => {
    // A body that is left unread closes its connection half a second later, in the middle of the response to the next request on it.
    const text = await bodyText(c.req.raw.body, mostBytes, LINGER_BYTES);
    if (text === null) throw new Refusal('body-too-large', 'Cannot read the body: it is too large');
    const isJson = /^application\/(?:[\w.-]+\+)?json\b/i.test(c.req.header('content-type') ?? '');
    if (text.trim() !== '' && !isJson)
      throw new Refusal('unsupported-media-type', 'Cannot read the body: its content type is not application/json');
    const bodyOrEmpty = isJson && text.trim() === '' ? '{}' : text;
    c.req.bodyCache.text = Promise.resolve(bodyOrEmpty) as never; // where the validator reads it; Hono caches promises there
    await next();
  };
