/** How many readers may take whole payloads at once? Each holds a page of them in memory, and asks the database for the next. */
import type { MiddlewareHandler } from 'hono';
import { Refusal } from '../errors.ts';
import type { HttpEnv } from './routes.ts';

/**
 * Takes a place, which is given back by calling what is returned, once.
 * @throws {Refusal} too-many-payload-reads
 */
export type TakePlace = () => () => void;

/** `most` places, for all that read payloads, over whatever route. */
export const payloadPlaces = (most: number): TakePlace => {
  let taken = 0;
  return () => {
    if (taken >= most)
      throw new Refusal('too-many-payload-reads', 'Cannot read payloads now: too many readers take some; ask again');
    taken++;
    return () => {
      taken--;
    };
  };
};

/**
 * Stands before the routes that answer with payloads. A place is held until the last byte was taken, the answer failed, or the
 * reader left, and past the deadline until the database has let go of the question.
 */
export const payloadReads =
  (takePlace: TakePlace): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    const leave = takePlace();
    try {
      await next();
    } finally {
      const streamed = c.get('streamed');
      if (streamed) void streamed.then(leave);
      else leave();
    }
  };
