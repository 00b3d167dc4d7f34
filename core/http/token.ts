/** Does the caller know the token? Asked only where one is set. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';
import { Refusal } from '../errors.ts';
import { isInProcess } from './in-process.ts';

/** @param token empty: nobody is asked, and neither is this process itself. @param open paths that are answered without it */
export const bearer =
  (token: string, open: readonly string[]): MiddlewareHandler =>
  async (c, next) => {
    const admitted = token === '' || open.includes(c.req.path) || isInProcess(c.req.raw);
    if (!admitted && !isBearer(c.req.header('authorization'), token))
      throw new Refusal('unauthorized', 'Cannot answer without the bearer token of this service');
    await next();
  };

/** In constant time: digests of equal length are compared, whatever was sent. */
export const isBearer = (authorization: string | undefined, token: string): boolean => {
  const sent = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  return sent !== undefined && timingSafeEqual(digest(sent), digest(token));
};

const digest = (text: string) => createHash('sha256').update(text).digest();
