/** Limits how many readers take whole payloads at once: each holds a page of them in memory, and queries the database for the next. */
import type { MiddlewareHandler } from 'hono';
import { Refusal } from '../errors.ts';
import type { HttpEnv } from './routes.ts';

/**
 * Takes one of the slots for payload reads. The returned function releases it; call it once.
 * @throws {Refusal} too-many-payload-reads
 */
export type AcquireSlot = () => () => void;

/** `limit` slots, shared by all routes that read payloads. */
export const payloadSlots = (limit: number): AcquireSlot => {
  let inUse = 0;
  return () => {
    if (inUse >= limit)
      throw new Refusal('too-many-payload-reads', 'Cannot read payloads now: too many readers take some; ask again');
    inUse++;
    return () => {
      inUse--;
    };
  };
};

/**
 * Middleware for the routes that respond with payloads. A slot is held until the last byte was taken, the response failed, or the
 * reader left, and past the deadline until the database has finished the query.
 */
export const payloadReads =
  (takePlace: AcquireSlot): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    const release = takePlace();
    try {
      await next();
    } finally {
      const streamed = c.get('streamed');
      if (streamed) void streamed.then(release);
      else release();
    }
  };
