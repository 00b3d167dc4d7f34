/** What if a body may be left out? Nothing at all counts as `{}`; what is sent has to be small, and to say that it is JSON. */
import type { MiddlewareHandler } from 'hono';
import { Refusal } from '../errors.ts';
import { bodyText } from './body-text.ts';

const MOST_BYTES = 4_096;

/**
 * Stands before a route whose JSON body is not required. Without it a body of another content type would be passed over in silence,
 * and a client that names the content type and sends nothing would be told that its JSON is malformed.
 */
export const optionalBody = (): MiddlewareHandler => async (c, next) => {
  const text = await bodyText(c.req.raw.body, MOST_BYTES);
  if (text === null) throw new Refusal('body-too-large', 'Cannot read the body: it is too large');
  const isJson = /^application\/(?:[\w.-]+\+)?json\b/i.test(c.req.header('content-type') ?? '');
  if (text.trim() !== '' && !isJson)
    throw new Refusal('unsupported-media-type', 'Cannot read the body: its content type is not application/json');
  const seen = isJson && text.trim() === '' ? '{}' : text;
  c.req.bodyCache.text = Promise.resolve(seen) as never; // where the validator looks; Hono keeps promises there
  await next();
};
