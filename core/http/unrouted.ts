/** What if no route takes a request? 405 with the methods that would do, when the path is known by another one; else 404. */
import type { Hono, NotFoundHandler } from 'hono';
import { type Answer, problem } from './problem.ts';

/** The app is looked at when a request comes, so routes that were mounted later count. */
export const unrouted =
  // biome-ignore lint/suspicious/noExplicitAny: an app of any environment; Hono's type is invariant in it
    (app: Hono<any, any, any>, answer: Answer = problem): NotFoundHandler =>
    (c) => {
      const allowed = methodsOf(app, c.req.path);
      if (allowed.length === 0) return answer(c, 404, 'route-unknown', 'Cannot find the path: nothing is served there');
      c.header('allow', allowed.join(', '));
      const method = /^[A-Z]{1,16}$/.test(c.req.method) ? c.req.method : 'this method';
      return answer(c, 405, 'method-not-allowed', `Cannot ${method} here: allowed is ${allowed.join(', ')}`);
    };

// biome-ignore lint/suspicious/noExplicitAny: as above
const methodsOf = (app: Hono<any, any, any>, path: string): string[] => {
  const known = [...new Set(app.routes.map(({ method }) => method))].filter((method) => method !== 'ALL');
  const served = known.filter((method) =>
    app.router.match(method, path)[0].some(([[, route]]) => (route as { method: string }).method === method),
  );
  return served.includes('GET') ? [...served, 'HEAD'].sort() : served.sort();
};
