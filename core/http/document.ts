/** GET /openapi: serves the contract. It is compiled at the first request, and not sent again to a caller that has it. */
import { createHash } from 'node:crypto';
import { createRoute, type RouteConfig, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { json, routes } from './routes.ts';

export const Contract = z
  .looseObject({
    openapi: z.literal('3.1.0'),
    info: z.looseObject({ title: z.string(), version: z.string() }),
    paths: z.record(z.string(), z.looseObject({})),
  })
  .openapi('Contract', {
    description: 'An OpenAPI document',
    examples: [{ openapi: '3.1.0', info: { title: 'svc', version: '0.1.0' }, paths: { '/ping': {} } }],
  });

export const IfNoneMatch = z.object({
  'if-none-match': z.string().optional().describe('tags of contracts that the caller has, or *'),
});

export const ETag = {
  etag: { schema: { type: 'string' }, description: 'Another one for each other contract' },
} as const;

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

/**
 * @param compile the document, or the text of it
 * @param refusals the other responses of the listener, in its own envelope
 * @param version of the contract's source, checked for each request: another version means another contract
 */
export const documentApp = (
  compile: () => unknown,
  refusals: RouteConfig['responses'],
  version: () => number | string = () => 0,
) => {
  const app = routes();
  const route = readContract(refusals);
  app.openAPIRegistry.registerPath(route); // the handler is a plain one, which sends text that was made once
  let latest: { version: number | string; made: Promise<ServedDocument> } | null = null;
  app.get(route.path, async (c) => {
    const now = version();
    if (latest?.version !== now) latest = { version: now, made: compiled(compile) };
    const { made } = latest;
    made.catch(() => {
      if (latest?.made === made) latest = null; // the next request tries again
    });
    return documentResponse(c, await made);
  });
  return app;
};

/** A document as it is sent, with its entity tag. */
export type ServedDocument = { text: string; etag: string };

const compiled = async (compile: () => unknown): Promise<ServedDocument> => servedDocument(await compile());

/** @param document a string is taken as it is */
export function servedDocument(document: unknown): ServedDocument {
  const text = typeof document === 'string' ? document : JSON.stringify(document);
  return { text, etag: `"${createHash('sha256').update(text).digest('base64url')}"` };
}

/** 304 when the caller has it already. */
export function documentResponse(c: Context, { text, etag }: ServedDocument): Response {
  c.header('etag', etag);
  c.header('cache-control', 'no-cache'); // may be stored, but has to be revalidated each time
  if (matchesTag(c.req.header('if-none-match') ?? '', etag)) return c.body(null, 304);
  return c.body(text, 200, { 'content-type': 'application/json' });
}

/** By weak comparison (RFC 9110, 13.1.2). Tags are parsed whole: one may hold a comma, or be "*". */
const matchesTag = (ifNoneMatch: string, etag: string): boolean => {
  const tags: readonly string[] = ifNoneMatch.match(/"[^"]*"/g) ?? [];
  return ifNoneMatch.trim() === '*' || tags.includes(etag);
};
