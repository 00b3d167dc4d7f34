/** How is a route declared? With its contract, as one value: what comes in is checked by it, and what it says is what is served. */
import type { HttpBindings } from '@hono/node-server';
import { OpenAPIHono, type z } from '@hono/zod-openapi';
import type { Env } from 'hono';
import { Refusal } from '../errors.ts';
import { Problem } from '../model/problem.ts';
import { PROBLEM_TYPE } from './problem.ts';

/** Under Node's server the raw request and response are at hand; in a test they are not. */
export type HttpEnv = {
  Bindings: Partial<HttpBindings>;
  Variables: {
    requestId: string;
    /** Read by `callerOf` of http/caller.ts. */
    caller?: string | null;
    /** Set where an answer leaves piece by piece: kept when its last piece was taken, it failed, or the reader left. */
    streamed?: Promise<void>;
  };
};

/** The schema of a failure: `404: json(Failure, 'No such session')`. */
export const Failure = Problem;

/**
 * A JSON answer. `description` is contract text: changing it moves the seal.
 * @param example what it reads like here, where it reads unlike others of its schema; of a failure its code and sentence
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

/** What the guards of a listener can answer before any route of it, and what a bug of ours comes to. */
export const barred = {
  401: json(Failure, 'The bearer token is missing or wrong'),
  403: json(Failure, 'Asked for under a foreign host name, or by a foreign web page'),
  500: json(Failure, 'Internal error'),
} as const;

/** What a guarded route that asks the database can answer besides its own. */
export const guarded = { ...barred, 503: json(Failure, 'The database is not available; ask again') } as const;

/** The same for one that the deadline of reads stands before (http/deadline.ts). */
export const guardedRead = { ...guarded, 504: json(Failure, 'The answer took too long and is dropped') } as const;

/** The same for one that takes a place among the readers of payloads (http/payload-reads.ts). */
export const guardedPayloads = {
  ...guardedRead,
  503: json(Failure, 'The database is not available, or too many take whole payloads at once; ask again'),
} as const;

/** An app whose routes carry their contract. A path segment that cannot be is 404, anything else that cannot be is 400. */
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
