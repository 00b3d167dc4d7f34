/** How is a contract handed out? Compiled when it is first asked for, and not sent again to who has it. */
import { createHash } from 'node:crypto';
import type { Context } from 'hono';

export const documentHandler = (compile: () => unknown) => {
  let made: { text: string; etag: string } | null = null;
  return (c: Context): Response => {
    if (!made) {
      const text = JSON.stringify(compile());
      made = { text, etag: `"${createHash('sha256').update(text).digest('base64url')}"` };
    }
    c.header('etag', made.etag);
    c.header('cache-control', 'no-cache'); // may be kept, and is asked about each time
    const held = c.req
      .header('if-none-match')
      ?.split(',')
      .map((tag) => tag.trim().replace(/^W\//, ''));
    if (held?.includes(made.etag) || held?.includes('*')) return c.body(null, 304);
    return c.body(made.text, 200, { 'content-type': 'application/json' });
  };
};
