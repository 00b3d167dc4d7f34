/** The check of the bearer token, where one is set. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';
import { Refusal } from '../errors.ts';
import { isInProcess } from './in-process.ts';
import type { HttpEnv } from './routes.ts';

/** `full` empty: no token is required. `read`: another one, which reads; empty: there is none. */
export type ApiTokens = { full: string; read: string };

type Paths = {
  /** Whether a path is served without a token. */
  isOpen: (path: string) => boolean;
  /** Whether the token that reads admits a request. */
  isRead: (method: string, path: string) => boolean;
};

/** Requests of this process itself need no token. Sets `readOnly` for the token that reads. */
export const bearer =
  ({ full, read }: ApiTokens, { isOpen, isRead }: Paths): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    const { method, path } = c.req;
    const authorization = c.req.header('authorization');
    const admitted = full === '' || isOpen(path) || isInProcess(c.req.raw) || isBearer(authorization, full);
    if (!admitted && (read === '' || !isBearer(authorization, read)))
      throw new Refusal('unauthorized', 'Cannot answer without the bearer token of this service');
    if (!admitted && !isRead(method, path))
      throw new Refusal('read-only', 'Cannot do that with this token: it reads, and changes nothing');
    if (!admitted) c.set('readOnly', true);
    await next();
  };

/** In constant time: digests of equal length are compared, whatever was sent. */
export const isBearer = (authorization: string | undefined, token: string): boolean => {
  const presented = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  return presented !== undefined && timingSafeEqual(digest(presented), digest(token));
};

const digest = (text: string) => createHash('sha256').update(text).digest();
