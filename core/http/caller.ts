/** The subject on whose behalf a request is made. Only a gateway that the operator trusts can name it; no other header is believed. */
import type { Context, MiddlewareHandler } from 'hono';
import type { HttpEnv } from './routes.ts';

const HEADER = 'x-svc-auth-subject';
const MOST_CHARACTERS = 256;

/**
 * Reads the header of the gateway, and removes it from the request in any case: later handlers call `callerOf`.
 * @param trusted whether there is a gateway that sets the header (`api.trust_caller_header`); else anybody could claim a name
 */
export const callers =
  (trusted: boolean): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    const header = c.req.header(HEADER);
    if (header !== undefined) {
      const isSingle = (c.env?.incoming?.headersDistinct[HEADER]?.length ?? 1) === 1; // of two, one is not the gateway's
      c.set('caller', trusted && isSingle && isSubject(header) ? header : null);
      c.req.raw.headers.delete(HEADER);
    }
    await next();
  };

/** The subject that the gateway vouches for; null: none. */
export const callerOf = (c: Context<HttpEnv>): string | null => c.get('caller') ?? null;

const isSubject = (text: string): boolean => text !== '' && text.length <= MOST_CHARACTERS && !/\p{Cc}/u.test(text);
