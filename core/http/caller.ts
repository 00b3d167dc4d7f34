/** On whose behalf is a request made? Only a gateway that the operator trusts can tell; nothing else that is sent is believed. */
import type { Context, MiddlewareHandler } from 'hono';
import type { HttpEnv } from './routes.ts';

const HEADER = 'x-svc-auth-subject';
const MOST_CHARACTERS = 256;

/**
 * Reads the header of the gateway, and takes it off the request in any case: who comes later asks `callerOf` or knows nobody.
 * @param trusted whether there is a gateway that sets the header (`api.trust_caller_header`); else anybody could claim a name
 */
export const callers =
  (trusted: boolean): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    const sent = c.req.header(HEADER);
    if (sent !== undefined) {
      const once = (c.env?.incoming?.headersDistinct[HEADER]?.length ?? 1) === 1; // two: one of them is not the gateway's
      c.set('caller', trusted && once && isSubject(sent) ? sent : null);
      c.req.raw.headers.delete(HEADER);
    }
    await next();
  };

/** The subject that the gateway vouches for; null: nobody does. */
export const callerOf = (c: Context<HttpEnv>): string | null => c.get('caller') ?? null;

const isSubject = (text: string): boolean => text !== '' && text.length <= MOST_CHARACTERS && !/\p{Cc}/u.test(text);
