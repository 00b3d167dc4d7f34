/** Routes declared together with their contract, as one value: requests are validated by it, and responses are what it declares. */
import type { HttpBindings } from '@hono/node-server';
import { OpenAPIHono, type z } from '@hono/zod-openapi';
import type { Env } from 'hono';
import { Refusal } from '../errors.ts';
import { Problem } from '../model/problem.ts';
import { PROBLEM_TYPE } from './problem.ts';

/** Under Node's server the raw request and response are available; in a test they are not. */
export type HttpEnv = {
  Bindings: Partial<HttpBindings>;
  Variables: {
    requestId: string;
    /** Read by `callerOf` of http/caller.ts. */
    caller?: string | null;
    /** The request has the token that reads. */
    readOnly?: boolean;
    /** Set for a streamed response; resolves when its last chunk was taken, it failed, or the reader left. */
    streamed?: Promise<void>;
  };
};

/** The schema of a failure: `404: json(Failure, 'No such session')`. */
export const Failure = Problem;

/**
 * A JSON response. `description` is contract text: changing it changes the seal.
 * @param example an example for this route, where the schema's own does not fit; of a failure its code and sentence
 *
 * @example
 * const { content } = json(z.object({ id: z.string() }), 'One thing');
 * Object.keys(content); // => ['application/json']
 * Object.keys(json(Failure, 'No such thing').content); // => ['application/problem+json']
 */
export const json = <Schema extends z.ZodType>(schema: Schema, description: string, example?: unknown) => ({
  description,
  content: {
    [schema === (Failure as z.ZodType) ? PROBLEM_TYPE : 'application/json']: {
      schema,
      ...(example === undefined ? {} : { example }),
    },
  } as { 'application/json': { schema: Schema } },
});

/** The responses of a listener's guards, which run before any route, and the response to a bug. */
export const guardFailures = {
  401: json(Failure, 'The bearer token is missing or wrong'),
  403: json(Failure, 'Asked for under a foreign host name, or by a foreign web page; or the token only reads'),
  500: json(Failure, 'Internal error'),
} as const;

/** The failures of a guarded route that queries the database. */
export const guarded = { ...guardFailures, 503: json(Failure, 'The database is not available; ask again') } as const;

/** The same for a route under the deadline of reads (http/deadline.ts). */
export const guardedRead = { ...guarded, 504: json(Failure, 'The answer took too long and is dropped') } as const;

/** The same for a route that takes a slot for payload reads (http/payload-reads.ts). */
export const guardedPayloads = {
  ...guardedRead,
  503: json(Failure, 'The database is not available, or too many take whole payloads at once; ask again'),
} as const;

/**
 * An app whose routes carry their contract. An invalid path segment is 404, anything else that is invalid is 400.
 * @example
 * const hello = createRoute({
 *   method: 'get',
 *   path: '/hello/{name}',
 *   request: { params: z.object({ name: z.string() }) },
 *   responses: { 200: json(z.object({ hello: z.string() }), 'A greeting') },
 * });
 * const app = routes().openapi(hello, (c) => c.json({ hello: c.req.valid('param').name }, 200));
 * await (await app.request('/hello/you')).json(); // => { hello: 'you' }
 * app.getOpenAPI31Document({ openapi: '3.1.0', info: {} }).paths['/hello/{name}'].get.responses[200].description; // => 'A greeting'
 */
export const routes = <E extends Env = HttpEnv>() =>
  new OpenAPIHono<E>({
    defaultHook: (result) => {
      if (result.success) return;
      if (result.target === 'param')
        throw new Refusal('route-unknown', 'Cannot find what the path names: a segment of it is no id');
      const [issue] = result.error.issues;
      const where = issue?.path.join('.');
      throw new Refusal(
        'bad-request',
        `Cannot read the ${PART[result.target] ?? 'request'}: ${where ? `"${where}" ` : ''}${issue?.message ?? 'is invalid'}`,
      );
    },
  });

const PART: Record<string, string> = {
  query: 'query',
  json: 'body',
  form: 'body',
  header: 'headers',
  cookie: 'cookies',
};
