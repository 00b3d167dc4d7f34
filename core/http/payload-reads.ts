/** Limits how many readers take whole payloads at once: each holds a page of them in memory, and queries the database for the next. */
import type { MiddlewareHandler } from 'hono';
import { Refusal } from '../errors.ts';
import type { HttpEnv } from './routes.ts';

/**
 * Takes one of the slots for payload reads, for which it may have to wait. The returned function releases it; call it once.
 * @param signal ends the wait of a reader that has left
 * @throws {Refusal} too-many-payload-reads
 */
export type AcquireSlot = (signal?: AbortSignal) => Promise<() => void>;

/** A page that opens asks for more than a slot's worth at once, and a slot is usually free again within a second. */
const WAIT_MS = 2_000;
/** A longer queue would not be served in that time. */
const MOST_WAITING = 64;

/** `limit` slots, shared by all routes that read payloads. Those that wait get one in the order in which they came. */
export const payloadSlots = (limit: number, { waitMs = WAIT_MS, mostWaiting = MOST_WAITING } = {}): AcquireSlot => {
  let inUse = 0;
  const waiting = new Set<() => void>();
  const release = () => {
    const [next] = waiting;
    if (next) next();
    else inUse--;
  };
  return async (signal) => {
    if (signal?.aborted || waiting.size >= mostWaiting) throw refused();
    if (inUse < limit) {
      inUse++;
      return release;
    }
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        waiting.delete(take);
        clearTimeout(timer);
        signal?.removeEventListener('abort', giveUp);
      };
      const take = () => {
        leave();
        resolve();
      };
      const giveUp = () => {
        leave();
        reject(refused());
      };
      const timer = setTimeout(giveUp, waitMs);
      waiting.add(take);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
    return release;
  };
};

const refused = () =>
  new Refusal('too-many-payload-reads', 'Cannot read payloads now: too many readers take some; ask again');

/**
 * Middleware for the routes that respond with payloads. A slot is held until the last byte was taken, the response failed, or the
 * reader left, and past the deadline until the database has finished the query.
 */
export const payloadReads =
  (acquireSlot: AcquireSlot): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    const release = await acquireSlot(c.req.raw.signal);
    try {
      await next();
    } finally {
      const streamed = c.get('streamed');
      if (streamed) void streamed.then(release);
      else release();
    }
  };
