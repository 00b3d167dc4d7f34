/** Refuses query parameters that a route does not have: the response without such a filter would be a different one. */
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import { nearest } from '../config/nearest.ts';
import { problem } from './problem.ts';

// biome-ignore lint/suspicious/noExplicitAny: an app of any environment; its type is invariant in it
type App = OpenAPIHono<any, any, any>;

/**
 * Comes before the routes. Checks those that have a contract, which is read when a request comes, so that routes mounted later count.
 * @param alternatives by the path of a route, as the router has it: the path of the one with the filters that people look for there
 */
export const knownQuery = (app: App, alternatives: Readonly<Record<string, string>> = {}): MiddlewareHandler => {
  let parametersByRoute: ReadonlyMap<string, readonly string[]> | null = null;
  return async (c, next) => {
    const start = c.req.url.indexOf('?');
    if (start === -1) return next();
    parametersByRoute ??= parametersOf(app);
    const matched = matchedRoutes(c).filter(({ method }) => method !== 'ALL');
    const route = matched.find(({ path }) => path === c.req.path) ?? matched.at(-1); // a literal path goes before a parameter
    const known = route && parametersByRoute.get(`${route.method} ${route.path}`);
    if (!route || !known) return next();
    const unknown = [...new URLSearchParams(c.req.url.slice(start + 1)).keys()].find((name) => !known.includes(name));
    if (unknown === undefined) return next();
    const alternative = alternatives[route.path];
    const alternativeHasIt =
      alternative !== undefined && parametersByRoute.get(`${route.method} ${alternative}`)?.includes(unknown);
    const hint = alternativeHasIt ? `GET ${alternative} has it` : suggestion(unknown, known);
    return problem(c, 400, 'bad-request', `Cannot read the query: ${named(unknown)} is no parameter here; ${hint}`);
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

/** A parameter that the caller sent is quoted only where it looks like a name. */
const named = (name: string): string => (/^[\w.[\]-]{1,64}$/.test(name) ? `"${name}"` : 'what was sent');

function suggestion(name: string, known: readonly string[]): string {
  const nearestName = nearest(name, known);
  if (nearestName !== null) return `did you mean "${nearestName}"?`;
  return known.length === 0 ? 'it takes none' : `there are ${known.join(', ')}`;
}
