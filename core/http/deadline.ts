/** A deadline for reads, until the response's head is sent. A response that comes later is dropped, since nobody should wait for it. */
import type { MiddlewareHandler } from 'hono';
import { Refusal } from '../errors.ts';
import type { HttpEnv } from './routes.ts';

/**
 * Refuses a GET or HEAD whose response has not begun in time. A response that has begun may stream without a limit, and so may a
 * write last: half done and refused would be worse than slow.
 */
export const deadline =
  (ms: number): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    if (c.req.method !== 'GET' && c.req.method !== 'HEAD') return next();
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_, reject) => {
      const refuse = () =>
        reject(new Refusal('deadline-exceeded', `Cannot answer in time: the answer took longer than ${ms / 1000} s`));
      timer = setTimeout(refuse, ms);
    });
    try {
      await Promise.race([next(), timeout]);
    } finally {
      clearTimeout(timer);
    }
  };
