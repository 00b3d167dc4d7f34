/** Examples of each failure of the read API, as it is sent, for the contract. */
import type { Failures } from './contract-responses.ts';
import { PROBLEM_TYPE, problemOf } from './problem.ts';

/** The failures of the read API. A route's example of one is its code and sentence. */
export const PROBLEMS: Failures = {
  type: PROBLEM_TYPE,
  schema: 'Problem',
  example: (status, method, routeExample) => {
    const [code, sentence] = (routeExample as readonly [string, string] | undefined) ?? DEFAULTS[status] ?? ['', ''];
    return problemOf(status, code, sentence.replace('{method}', method), '019aa5f0-8f1a-7c33-9d0e-3a6f5e0b7c11');
  },
};

/** As the code sends them; a test requests each. */
const DEFAULTS: Record<number, readonly [code: string, sentence: string]> = {
  400: ['bad-request', 'Cannot read the request: it is malformed'],
  401: ['unauthorized', 'Cannot answer without the bearer token of this service'],
  403: ['foreign-host', 'Cannot answer as "evil.example": it is neither loopback nor among allowed_hosts'],
  404: ['session-unknown', 'Cannot read the session: there is none with this id'],
  405: ['method-not-allowed', 'Cannot {method} here: allowed is POST'],
  408: ['too-slow', 'Cannot read the request: it came too slowly'],
  413: ['body-too-large', 'Cannot read the body: it is too large'],
  415: ['unsupported-media-type', 'Cannot read the body: its content type is not application/json'],
  431: ['head-too-large', 'Cannot read the request: its head is too large'],
  500: ['internal', 'Internal error'],
  503: ['database-unavailable', 'Cannot answer: the database is not available'],
  504: ['deadline-exceeded', 'Cannot answer in time: the answer took longer than 20 s'],
};
