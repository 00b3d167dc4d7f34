/** Does the caller ask for what there is? A parameter that a route does not have is refused: an answer without it would be another one. */
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import { nearest } from '../config/nearest.ts';
import { problem } from './problem.ts';

// biome-ignore lint/suspicious/noExplicitAny: an app of any environment; its type is invariant in it
type App = OpenAPIHono<any, any, any>;

/**
 * For routes that have a contract, and stands before them. It is looked at when a request comes, so routes that were mounted later count.
 * @param instead paths, as the router has them, and the one that has the filters that people look for there
 */
export const knownQuery = (app: App, instead: Readonly<Record<string, string>> = {}): MiddlewareHandler => {
  let described: ReadonlyMap<string, readonly string[]> | null = null;
  return async (c, next) => {
    const start = c.req.url.indexOf('?');
    if (start === -1) return next();
    described ??= parametersOf(app);
    const route = matchedRoutes(c).findLast(({ method }) => method !== 'ALL');
    const known = route && described.get(`${route.method} ${route.path}`);
    if (!route || !known) return next();
    const unknown = [...new URLSearchParams(c.req.url.slice(start + 1)).keys()].find((name) => !known.includes(name));
    if (unknown === undefined) return next();
    const other = instead[route.path];
    const hasIt = other !== undefined && described.get(`${route.method} ${other}`)?.includes(unknown);
    const would = hasIt ? `GET ${other} has it` : wouldDo(unknown, known);
    return problem(c, 400, 'bad-request', `Cannot read the query: ${named(unknown)} is no parameter here; ${would}`);
  };
};

/** By method and path as the router writes it. */
const parametersOf = ({ openAPIRegistry }: App): ReadonlyMap<string, readonly string[]> =>
  new Map(
    openAPIRegistry.definitions.flatMap((definition) => {
      if (definition.type !== 'route') return [];
      const { method, path, request } = definition.route;
      const { shape = {} } = (request?.query ?? {}) as { shape?: object };
      return [[`${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`, Object.keys(shape)] as const];
    }),
  );

/** What a caller sent is shown where it can be a name. */
const named = (name: string): string => (/^[\w.[\]-]{1,64}$/.test(name) ? `"${name}"` : 'what was sent');

function wouldDo(name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  if (meant !== null) return `did you mean "${meant}"?`;
  return known.length === 0 ? 'it takes none' : `there are ${known.join(', ')}`;
}
