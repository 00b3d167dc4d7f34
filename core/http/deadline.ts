/** How long may a read take? Until its head leaves; an answer that comes later is dropped, since nobody should wait for it. */
import type { MiddlewareHandler } from 'hono';
import { Refusal } from '../errors.ts';
import type { HttpEnv } from './routes.ts';

/**
 * Refuses a GET or HEAD whose answer has not begun in time. What has begun may stream on as long as it likes, and what writes may
 * take its time: half done and refused would be worse than slow.
 */
export const deadline =
  (ms: number): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    if (c.req.method !== 'GET' && c.req.method !== 'HEAD') return next();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const refuse = () =>
        reject(new Refusal('deadline-exceeded', `Cannot answer in time: the answer took longer than ${ms / 1000} s`));
      timer = setTimeout(refuse, ms);
    });
    try {
      await Promise.race([next(), late]);
    } finally {
      clearTimeout(timer);
    }
  };
