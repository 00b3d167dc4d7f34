/** GET /openapi: how is a contract handed out? Compiled when it is first asked for, and not sent again to who has it. */
import { createHash } from 'node:crypto';
import { createRoute, type RouteConfig, z } from '@hono/zod-openapi';
import { json, routes } from './routes.ts';

const Contract = z
  .looseObject({
    openapi: z.literal('3.1.0'),
    info: z.looseObject({ title: z.string(), version: z.string() }),
    paths: z.record(z.string(), z.looseObject({})),
  })
  .openapi('Contract', {
    description: 'An OpenAPI document',
    examples: [{ openapi: '3.1.0', info: { title: 'svc', version: '0.1.0' }, paths: { '/ping': {} } }],
  });

const IfNoneMatch = z.object({
  'if-none-match': z.string().optional().describe('tags of contracts that the caller has, or *'),
});

const ETag = { etag: { schema: { type: 'string' }, description: 'Another one for each other contract' } } as const;

const readContract = (refusals: RouteConfig['responses']) =>
  createRoute({
    method: 'get',
    path: '/openapi',
    operationId: 'readContract',
    tags: ['service'],
    summary: 'This contract, compiled from the routes that are served',
    request: { headers: IfNoneMatch },
    responses: {
      200: { ...json(Contract, 'The contract'), headers: ETag },
      304: { description: 'The caller has it already', headers: ETag },
      ...refusals,
    },
  });

/** @param refusals what the listener can answer besides, in its own envelope */
export const documentApp = (compile: () => unknown, refusals: RouteConfig['responses']) => {
  const app = routes();
  const route = readContract(refusals);
  app.openAPIRegistry.registerPath(route); // beside a plain handler, which sends text that was made once
  let made: { text: string; etag: string } | null = null;
  app.get(route.path, (c) => {
    if (!made) {
      const text = JSON.stringify(compile());
      made = { text, etag: `"${createHash('sha256').update(text).digest('base64url')}"` };
    }
    c.header('etag', made.etag);
    c.header('cache-control', 'no-cache'); // may be kept, and is asked about each time
    if (names(c.req.header('if-none-match') ?? '', made.etag)) return c.body(null, 304);
    return c.body(made.text, 200, { 'content-type': 'application/json' });
  });
  return app;
};

/** By weak comparison (RFC 9110, 13.1.2). Tags are taken whole: one may hold a comma, or be called "*". */
const names = (ifNoneMatch: string, etag: string): boolean => {
  const tags: readonly string[] = ifNoneMatch.match(/"[^"]*"/g) ?? [];
  return ifNoneMatch.trim() === '*' || tags.includes(etag);
};
