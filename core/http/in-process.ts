/** Requests that this process makes of its own read API: admitted without a token, which therefore stands in none of them. */

const made = new WeakSet<Request>();

/** Nothing that comes over a socket can be one; a request that is made of this one is not admitted either. */
export function admitInProcess(request: Request): Request {
  made.add(request);
  return request;
}

export const isInProcess = (request: Request): boolean => made.has(request);
