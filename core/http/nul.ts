/** Refuses URLs with a NUL: no text of the database can hold one, so nothing that is stored has one in its name. */
import type { MiddlewareHandler } from 'hono';
import { problem } from './problem.ts';

/** 400 where the path or the query holds a NUL. Headers cannot; bodies are checked by their schemas. */
export const refuseNul = (): MiddlewareHandler => async (c, next) => {
  if (c.req.url.includes('%00'))
    return problem(
      c,
      400,
      'bad-request',
      'Cannot read the request: its address holds the character NUL, written as %00',
    );
  return next();
};
