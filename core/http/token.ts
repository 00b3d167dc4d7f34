/** The check of the bearer token, where one is set. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';
import { Refusal } from '../errors.ts';
import { isInProcess } from './in-process.ts';

/** Requests of this process itself need no token. @param token empty: none is required @param isOpen whether a path is served without it */
export const bearer =
  (token: string, isOpen: (path: string) => boolean): MiddlewareHandler =>
  async (c, next) => {
    const admitted = token === '' || isOpen(c.req.path) || isInProcess(c.req.raw);
    if (!admitted && !isBearer(c.req.header('authorization'), token))
      throw new Refusal('unauthorized', 'Cannot answer without the bearer token of this service');
    await next();
  };

/** In constant time: digests of equal length are compared, whatever was sent. */
export const isBearer = (authorization: string | undefined, token: string): boolean => {
  const presented = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  return presented !== undefined && timingSafeEqual(digest(presented), digest(token));
};

const digest = (text: string) => createHash('sha256').update(text).digest();
