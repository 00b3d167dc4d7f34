/** What of the read API does a cassette see? What can be read: no actions, no other cassettes, and no credentials of its own. */
import { PROBLEM_TYPE } from '../http/problem.ts';
import type { Env } from './contract.ts';

/** @param token the service's own, so that cassettes read also where callers are asked for one */
export const coreBinding = (
  fetch: (request: Request) => Response | Promise<Response>,
  token: string,
): NonNullable<Env['CORE']> => ({
  fetch: async (input, init) => {
    const asked = new Request(typeof input === 'string' ? new URL(input, HERE) : input, init);
    const { pathname, search } = new URL(asked.url);
    if (asked.method !== 'GET' && asked.method !== 'HEAD')
      return refused(405, 'method-not-allowed', 'Cannot do that: a cassette reads the core and changes nothing in it');
    if (!READABLE.test(pathname))
      return refused(
        404,
        'route-unknown',
        'Cannot find the path: a cassette reads /v1 apart from admin and cassette routes',
      );
    const headers = new Headers(asked.headers);
    for (const name of [...headers.keys()]) if (name.startsWith('x-svc-') || LEFT_OUT.has(name)) headers.delete(name);
    if (token !== '') headers.set('authorization', `Bearer ${token}`);
    return fetch(new Request(`${HERE}${pathname}${search}`, { method: asked.method, headers, signal: asked.signal }));
  },
});

const HERE = 'http://localhost';
const READABLE = /^\/(?:ping|openapi|v1\/(?!admin(?:\/|$)|mcp(?:\/|$)|cassettes\/[^/]+\/(?!openapi\.json$)).*)$/;
const LEFT_OUT = new Set(['authorization', 'cookie', 'host', 'origin', 'sec-fetch-site', 'connection']);

const refused = (status: number, code: string, error: string): Response =>
  new Response(JSON.stringify({ type: 'about:blank', title: 'Refused', status, code, detail: error, error }), {
    status,
    headers: { 'content-type': PROBLEM_TYPE },
  });
