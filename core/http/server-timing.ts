/** The `Server-Timing` header of reads: how long the response took until its head was sent, and for how much of that the database worked. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { MiddlewareHandler } from 'hono';

export type ServerTiming = {
  /** Counts the time of a query for the request during which it is made. */
  measure<Result>(query: () => Promise<Result>): Promise<Result>;
  /** Adds the header to the responses of GET and HEAD. */
  middleware: MiddlewareHandler;
};

/** Queries of one request may run side by side: their time counts once. */
type Meter = { running: number; since: number; ms: number };

/** One for the process: until Node 24, each more makes every promise of the process slower. */
const meters = new AsyncLocalStorage<Meter>();

export function openServerTiming(now: () => number = () => performance.now()): ServerTiming {
  return {
    async measure(query) {
      const meter = meters.getStore();
      if (!meter) return query();
      if (meter.running++ === 0) meter.since = now();
      try {
        return await query();
      } finally {
        if (--meter.running === 0) meter.ms += now() - meter.since;
      }
    },
    async middleware(c, next) {
      if (c.req.method !== 'GET' && c.req.method !== 'HEAD') return next();
      const began = now();
      const meter: Meter = { running: 0, since: began, ms: 0 };
      await meters.run(meter, next);
      const dbMs = meter.ms + (meter.running > 0 ? now() - meter.since : 0); // of a stream, or past the deadline, one still runs
      c.header('server-timing', `total;dur=${milliseconds(now() - began)}, db;dur=${milliseconds(dbMs)}`);
    },
  };
}

const milliseconds = (ms: number): string => ms.toFixed(1);
