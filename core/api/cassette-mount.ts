/** /v1/cassettes/{name}/…: what a cassette serves, under its installed name. The mount is not in the contract; the operations of cassettes are. */
import { Hono } from 'hono';
import { cassetteUnknown } from '../cassette/cassette-unknown.ts';
import type { CassetteHost } from '../cassette/host.ts';
import { methodsAt } from '../cassette/openapi/methods-at.ts';
import { Refusal } from '../errors.ts';
import { callerOf } from '../http/caller.ts';
import { isInProcess } from '../http/in-process.ts';
import type { HttpEnv } from '../http/routes.ts';
import { refuseMethod } from '../http/unrouted.ts';
import type { Logger } from '../log.ts';

/** Any method. The response streams, so no middleware may buffer it. */
export const cassetteMountApp = ({
  cassettes,
  log,
}: {
  cassettes: Pick<CassetteHost, 'answer' | 'installed'>;
  log: Logger;
}) => {
  const app = new Hono<HttpEnv>();
  for (const path of ['/v1/cassettes/:name', '/v1/cassettes/:name/*'])
    app.all(path, async (c, next) => {
      if (/^\/v1\/cassettes\/[^/]+\/openapi\.json$/.test(c.req.path)) return next(); // a route of the service, whatever the method
      if (isInProcess(c.req.raw))
        throw new Refusal('route-unknown', 'Cannot find the path: a cassette does not ask cassettes');
      const name = c.req.param('name') ?? '';
      if (c.req.method === 'TRACE') {
        // never forwarded: the response would show headers that were added on the way
        const installed = cassettes.installed().find(({ entry }) => entry.name === name);
        if (!installed) throw cassetteUnknown();
        return refuseMethod(c, installed.document ? methodsAt(installed.document.document, c.req.path) : []);
      }
      const { outgoing } = c.env ?? {};
      const cut = (why: string) => {
        log.warn({ request_id: c.get('requestId'), cassette: name, reason: why }, 'the answer of a cassette was cut');
        outgoing?.destroy();
      };
      const response = await cassettes.answer(name, {
        request: c.req.raw,
        caller: callerOf(c),
        requestId: c.get('requestId'),
        peer: c.env?.incoming?.socket.remoteAddress ?? null,
        ...(outgoing ? { cut } : {}),
      });
      if (response.body) c.set('streamed', Promise.resolve());
      return c.newResponse(response.body, response);
    });
  return app;
};
