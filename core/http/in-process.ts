/** Requests of this process to its own read API. They are admitted without a token, so none of them carries it. */

const inProcessRequests = new WeakSet<Request>();

/** Marks a request. One that came over a socket is never marked; a copy of a marked one is not admitted either. */
export function admitInProcess(request: Request): Request {
  inProcessRequests.add(request);
  return request;
}

export const isInProcess = (request: Request): boolean => inProcessRequests.has(request);
