/** Requests that no route takes: 405 with the allowed methods when the path has routes of other methods, else 404. */
import type { Context, Hono, MiddlewareHandler, NotFoundHandler } from 'hono';
import { type ProblemResponder, problem } from './problem.ts';

// biome-ignore lint/suspicious/noExplicitAny: an app of any environment; Hono's type is invariant in it
type App = Hono<any, any, any>;

/** The app's routes are read when a request comes, so those that were mounted later count. */
export const unrouted =
  (app: App, answer: ProblemResponder = problem): NotFoundHandler =>
  (c) =>
    refuseMethod(c, methodsOf(app, c.req.path), answer);

/** @param allowed the methods of the path; none: nothing is served there */
export function refuseMethod(c: Context, allowed: readonly string[], answer: ProblemResponder = problem): Response {
  if (allowed.length === 0) return answer(c, 404, 'route-unknown', 'Cannot find the path: nothing is served there');
  c.header('allow', allowed.join(', '));
  const method = /^[A-Z]{1,16}$/.test(c.req.method) ? c.req.method : 'this method';
  return answer(c, 405, 'method-not-allowed', `Cannot ${method} here: allowed is ${allowed.join(', ')}`);
}

/**
 * A path with a literal route of its own matches no parameter: `/skills/list` is no skill. (OpenAPI 3.1, 'Path templating
 * matching'.) Comes before the routes.
 */
export const literalFirst =
  (app: App): MiddlewareHandler =>
  async (c, next) => {
    const methods = exactMethods(app, c.req.path);
    if (methods.length === 0 || methods.includes(c.req.method === 'HEAD' ? 'GET' : c.req.method)) return next();
    return c.notFound();
  };

const methodsOf = (app: App, path: string): string[] => {
  const exact = exactMethods(app, path);
  const known = [...new Set(app.routes.map(({ method }) => method))].filter((method) => method !== 'ALL');
  const matching = known.filter((method) =>
    app.router.match(method, path)[0].some(([[, route]]) => (route as { method: string }).method === method),
  );
  const methods = exact.length > 0 ? exact : matching;
  return methods.includes('GET') ? [...methods, 'HEAD'].sort() : methods.sort();
};

/** The methods of the routes whose whole path is this one, each once. */
const exactMethods = (app: App, path: string): string[] => [
  ...new Set(app.routes.flatMap((route) => (route.path === path && route.method !== 'ALL' ? [route.method] : []))),
];
