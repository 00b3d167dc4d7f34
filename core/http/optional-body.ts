/** Bodies that may be left out. An absent or empty one counts as `{}`; any other has to be small and declared as JSON. */
import type { MiddlewareHandler } from 'hono';
import { Refusal } from '../errors.ts';
import { bodyText } from './body-text.ts';

const MOST_BYTES = 4_096;
const DROPPED_BYTES = 1024 * 1024;

/**
 * Middleware for a route whose JSON body is not required. Without it a body of another content type would be ignored silently,
 * and a client that names the content type and sends nothing would get an error about malformed JSON.
 */
export const optionalBody =
  (mostBytes = MOST_BYTES): MiddlewareHandler =>
  async (c, next) => {
    // A body that is left unread closes its connection half a second later, in the middle of the response to the next request on it:
    // so a client whose body is not read to its end has to open another.
    const text = await bodyText(c.req.raw.body, mostBytes, DROPPED_BYTES, () => c.header('connection', 'close'));
    if (text === null) throw new Refusal('body-too-large', 'Cannot read the body: it is too large');
    const isJson = /^application\/(?:[\w.-]+\+)?json\b/i.test(c.req.header('content-type') ?? '');
    if (text.trim() !== '' && !isJson)
      throw new Refusal('unsupported-media-type', 'Cannot read the body: its content type is not application/json');
    const bodyOrEmpty = isJson && text.trim() === '' ? '{}' : text;
    c.req.bodyCache.text = Promise.resolve(bodyOrEmpty) as never; // where the validator reads it; Hono caches promises there
    await next();
  };
