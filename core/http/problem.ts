/** Failure responses as `application/problem+json`, with nothing in them that the caller did not send or should not know. */
import { STATUS_CODES } from 'node:http';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Problem } from '../model/problem.ts';

/** Makes a listener's failure responses. The read API sends problems; the ingest listener has an envelope of its own. */
export type ProblemResponder = (c: Context, status: ContentfulStatusCode, code: string, message: string) => Response;

export const PROBLEM_TYPE = 'application/problem+json';

/** @param message one sentence, which is sent as it is */
export const problem: ProblemResponder = (c, status, code, message) =>
  c.body(JSON.stringify(problemOf(status, code, message, c.get('requestId') ?? '')), status, {
    'content-type': PROBLEM_TYPE,
  });

export const problemOf = (status: number, code: string, message: string, request_id: string): Problem => ({
  type: 'about:blank',
  title: STATUS_CODES[status] ?? 'Error',
  status,
  code,
  detail: message,
  error: message,
  request_id,
});
