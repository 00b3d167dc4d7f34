/** What is read is derived first: tells the deriving processes which sessions somebody reads, as long as that is a minute ago at most. */
import type { MiddlewareHandler } from 'hono';
import { z } from 'zod';
import type { Database } from '../db/database.ts';
import type { HttpEnv } from '../http/routes.ts';

const FOR_MS = 60_000;
const EVERY_MS = 500; // so that a session is marked soon whose turn comes in after the read
const MOST = 256; // sessions; of more readers than that those that read last count

/** Returns the function that reports a read. While nobody reads it makes no query; a failure to mark costs no reader anything. */
export function openLooks(execute: Database['execute'], now: () => number): (session_id: string) => void {
  const readAt = new Map<string, number>(); // by session, the latest last
  let timer: NodeJS.Timeout | undefined;
  const mark = () => {
    const since = now() - FOR_MS;
    for (const [id, at] of readAt) if (at < since) readAt.delete(id);
    if (readAt.size > 0) return void execute('markLookedAt', { session_ids: [...readAt.keys()] }).catch(() => {});
    clearInterval(timer);
    timer = undefined;
  };
  return (session_id) => {
    readAt.delete(session_id);
    readAt.set(session_id, now());
    const [oldest] = readAt.keys();
    if (readAt.size > MOST && oldest) readAt.delete(oldest);
    timer ??= setInterval(mark, EVERY_MS).unref();
  };
}

/** For routes below `/v1/sessions/:id`. */
export const lookedAt =
  (looked: (session_id: string) => void): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    const { data: id } = z.uuid().safeParse(c.req.param('id')?.toLowerCase());
    if (id && c.req.method === 'GET') looked(id);
    await next();
  };
