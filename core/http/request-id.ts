/** Request ids: the caller's, when it is a UUID in canonical spelling; else a new one. */
import type { MiddlewareHandler } from 'hono';
import { v7 } from 'uuid';
import type { HttpEnv } from './routes.ts';

const CANONICAL = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export const requestIds =
  (mint: () => string = v7): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    const header = c.req.header('x-request-id') ?? '';
    const requestId = CANONICAL.test(header) ? header : mint();
    c.set('requestId', requestId);
    c.header('x-request-id', requestId);
    await next();
  };
