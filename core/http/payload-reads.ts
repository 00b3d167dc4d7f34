/** How many readers may take whole payloads at once? Each holds a page of them in memory, and asks the database for the next. */
import type { MiddlewareHandler } from 'hono';
import { Refusal } from '../errors.ts';
import type { HttpEnv } from './routes.ts';

/**
 * Stands before the routes that answer with payloads; all of them share `most` places. A place is held until the last byte was taken,
 * the answer failed, or the reader left, and past the deadline until the database has let go of the question.
 */
export const payloadReads = (most: number): MiddlewareHandler<HttpEnv> => {
  let underWay = 0;
  const leave = () => {
    underWay--;
  };
  return async (c, next) => {
    if (underWay >= most)
      throw new Refusal('too-many-payload-reads', 'Cannot read payloads now: too many readers take some; ask again');
    underWay++;
    try {
      await next();
    } finally {
      const streamed = c.get('streamed');
      if (streamed) void streamed.then(leave);
      else leave();
    }
  };
};
