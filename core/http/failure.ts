/** Error responses: the status of each refusal. Messages of other errors are never sent, since libraries quote their input. */
import type { ErrorHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { DatabaseError, Refusal, type RefusalCode } from '../errors.ts';
import type { Logger } from '../log.ts';
import { type ProblemResponder, problem } from './problem.ts';

const STATUS = {
  'bad-request': 400,
  unauthorized: 401,
  'read-only': 403,
  'foreign-host': 403,
  'foreign-origin': 403,
  'session-unknown': 404,
  'trace-unknown': 404,
  'span-unknown': 404,
  'raw-turn-unknown': 404,
  'raw-turn-unanswered': 404,
  'raw-turn-promptless': 404,
  'block-unknown': 404,
  'route-unknown': 404,
  'cassette-unknown': 404,
  'method-not-allowed': 405,
  'raw-turn-inseparable': 409,
  'backup-broken': 409,
  'gc-under-way': 409,
  'body-too-large': 413,
  'unsupported-media-type': 415,
  'range-unsatisfiable': 416,
  'body-undecodable': 422,
  'decoder-unavailable': 503,
  'too-many-payload-reads': 503,
  'too-many-readers': 503,
  'database-unavailable': 503,
  'deadline-exceeded': 504,
  'cassette-broken': 502,
  'cassette-unavailable': 503,
  'cassette-late': 504,
} as const satisfies Record<RefusalCode, ContentfulStatusCode>;

/** Responds to what a handler throws. What is not a refusal is a bug or a failure of the database: it is logged under the request's id. */
export const onError =
  (log: Logger, answer: ProblemResponder = problem): ErrorHandler =>
  (thrown, c) => {
    const refusal = refusalFor(thrown);
    if (!refusal) {
      log.error(
        { request_id: c.get('requestId'), method: c.req.method, ...traceOf(thrown) },
        'Cannot answer a request',
      );
      return answer(c, 500, 'internal', 'Internal error');
    }
    if (refusal.code === 'database-unavailable') {
      log.warn({ request_id: c.get('requestId'), ...traceOf(thrown) }, 'Cannot answer a request: no database');
    }
    if (STATUS[refusal.code] === 503) c.header('retry-after', '1'); // seconds
    if (refusal.code === 'unauthorized') c.header('www-authenticate', 'Bearer realm="svc"');
    return answer(c, STATUS[refusal.code], refusal.code, refusal.message);
  };

const refusalFor = (thrown: Error): Refusal | null => {
  if (thrown instanceof Refusal) return thrown;
  if (thrown instanceof DatabaseError && thrown.transient)
    return new Refusal('database-unavailable', 'Cannot answer: the database is not available');
  if (!(thrown instanceof HTTPException)) return null;
  if (thrown.status === 415)
    return new Refusal(
      'unsupported-media-type',
      'Cannot read the body: it needs the content type that the contract names',
    );
  if (thrown.status === 413) return new Refusal('body-too-large', 'Cannot read the body: it is too large');
  return thrown.status < 500 ? new Refusal('bad-request', 'Cannot read the request: it is malformed') : null;
};

/** What a log may hold of an error: never the message of a foreign one, which may quote a prompt. */
export const traceOf = (thrown: unknown): Record<string, unknown> => {
  if (!(thrown instanceof Error)) return { error: typeof thrown };
  const isOurs = thrown instanceof Refusal || thrown instanceof DatabaseError;
  return {
    error: thrown.name,
    ...(isOurs ? { reason: thrown.message } : {}),
    ...(thrown instanceof DatabaseError ? { sqlstate: thrown.sqlstate } : {}),
    at: (thrown.stack ?? '')
      .split('\n')
      .filter((line) => /^\s+at /.test(line))
      .slice(0, 8)
      .map((line) => line.trim()),
  };
};
