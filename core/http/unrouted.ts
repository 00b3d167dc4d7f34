/** What if no route takes a request? 405 with the methods that would do, when the path is known by another one; else 404. */
import type { Context, Hono, MiddlewareHandler, NotFoundHandler } from 'hono';
import { type ProblemResponder, problem } from './problem.ts';

// biome-ignore lint/suspicious/noExplicitAny: an app of any environment; Hono's type is invariant in it
type App = Hono<any, any, any>;

/** The app is looked at when a request comes, so routes that were mounted later count. */
export const unrouted =
  (app: App, answer: ProblemResponder = problem): NotFoundHandler =>
  (c) =>
    refuseMethod(c, methodsOf(app, c.req.path), answer);

/** @param allowed the methods that would do; none: nothing is served there */
export function refuseMethod(c: Context, allowed: readonly string[], answer: ProblemResponder = problem): Response {
  if (allowed.length === 0) return answer(c, 404, 'route-unknown', 'Cannot find the path: nothing is served there');
  c.header('allow', allowed.join(', '));
  const method = /^[A-Z]{1,16}$/.test(c.req.method) ? c.req.method : 'this method';
  return answer(c, 405, 'method-not-allowed', `Cannot ${method} here: allowed is ${allowed.join(', ')}`);
}

/**
 * A path that is served by its very name is none that a parameter stands for: `/skills/list` is no skill. (OpenAPI 3.1, 'Path
 * templating matching'.) Stands before the routes.
 */
export const literalFirst =
  (app: App): MiddlewareHandler =>
  async (c, next) => {
    const served = literal(app, c.req.path);
    if (served.length === 0 || served.includes(c.req.method === 'HEAD' ? 'GET' : c.req.method)) return next();
    return c.notFound();
  };

const methodsOf = (app: App, path: string): string[] => {
  const named = literal(app, path);
  const known = [...new Set(app.routes.map(({ method }) => method))].filter((method) => method !== 'ALL');
  const matching = known.filter((method) =>
    app.router.match(method, path)[0].some(([[, route]]) => (route as { method: string }).method === method),
  );
  const served = named.length > 0 ? named : matching;
  return served.includes('GET') ? [...served, 'HEAD'].sort() : served.sort();
};

/** The methods of the routes whose whole path is this one, each once. */
const literal = (app: App, path: string): string[] => [
  ...new Set(app.routes.flatMap((route) => (route.path === path && route.method !== 'ALL' ? [route.method] : []))),
];
