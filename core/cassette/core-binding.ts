/** The binding `CORE`: the read routes listed here, as a cassette sees them. No actions, no other cassettes, no credentials. */
import { Hono } from 'hono';
import { admitInProcess } from '../http/in-process.ts';
import { PROBLEM_TYPE } from '../http/problem.ts';
import type { Env } from './contract.ts';

/** The routes that can be read, matched by the same router that the read API uses. */
export const CORE_READS = [
  ...['/ping', '/openapi', '/v1/stats', '/v1/coverage', '/v1/events', '/v1/browse/sessions', '/v1/browse/facets'],
  ...['/v1/find', '/v1/sessions/:id/find', '/v1/stats/series', '/v1/sessions/:id/cache', '/v1/cache/breaks'],
  ...['/v1/sessions', '/v1/sessions/:id', '/v1/sessions/:id/outline', '/v1/sessions/:id/traces'],
  ...['/v1/traces', '/v1/traces/:trace_id', '/v1/traces/:trace_id/spans', '/v1/traces/:trace_id/spans/:span_id'],
  ...['/v1/sessions/:id/raw_turns', '/v1/raw_turns/:raw_turn_id'],
  ...['/v1/raw_turns/:raw_turn_id/request', '/v1/raw_turns/:raw_turn_id/response', '/v1/whereis/:id'],
  ...['/v1/raw_turns/:raw_turn_id/context', '/v1/raw_turns/:raw_turn_id/blocks/:n'],
  ...['/v1/cassettes', '/v1/cassettes/:name/openapi.json'],
];

/** @param fetch serves, without a token, the requests that went through `admitInProcess` */
export function coreBinding(fetch: (request: Request) => Response | Promise<Response>): NonNullable<Env['CORE']> {
  const readable = new Hono();
  readable.on('GET', CORE_READS, ({ req: { raw } }) => fetch(admitInProcess(inProcessRequest(raw))));
  readable.notFound(unreadable);
  readable.onError((error) => {
    throw error; // for the cassette to handle
  });
  return {
    fetch: async (input, init) => {
      const request = new Request(typeof input === 'string' ? new URL(input, HERE) : input, init);
      if (request.method !== 'GET' && request.method !== 'HEAD')
        return refused(
          405,
          'method-not-allowed',
          'Cannot do that: a cassette reads the core and changes nothing in it',
        );
      return PLAIN.test(new URL(request.url).pathname) ? readable.fetch(request) : unreadable();
    },
  };
}

const HERE = 'http://localhost';
/** None of these routes needs an escape, and a path without escapes can be read in one way only. */
const PLAIN = /^(?:\/[A-Za-z0-9._~-]+)+$/;
const PASSED_ON = ['accept', 'accept-encoding', 'range', 'if-none-match', 'last-event-id', 'x-request-id'];

function inProcessRequest({ url, method, headers, signal }: Request): Request {
  const { pathname, search } = new URL(url);
  const passed = PASSED_ON.flatMap((name): [string, string][] => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value]];
  });
  return new Request(`${HERE}${pathname}${search}`, { method, headers: passed, signal });
}

const unreadable = (): Response =>
  refused(404, 'route-unknown', 'Cannot find the path: the core has no such route that a cassette may read');

const refused = (status: number, code: string, error: string): Response =>
  new Response(JSON.stringify({ type: 'about:blank', title: 'Refused', status, code, detail: error, error }), {
    status,
    headers: { 'content-type': PROBLEM_TYPE },
  });
