/** The internal listener: what may operators know that the read API does not tell? Nothing without its token, and nothing of it is contract. */
import { Hono } from 'hono';
import type { Evidence } from '../cassette/evidence.ts';
import { onError } from '../http/failure.ts';
import { guard } from '../http/guards.ts';
import { problem } from '../http/problem.ts';
import { requestIds } from '../http/request-id.ts';
import type { HttpEnv } from '../http/routes.ts';
import { isBearer } from '../http/token.ts';
import type { Log } from '../log.ts';

type Deps = { evidence: () => Evidence; token: string; allowedHosts: readonly string[]; log: Log };

/** Whatever the path: who does not send the token learns nothing, not even what is served. (Seed, 'Internal listener'.) */
export const internalApi = ({ evidence, token, allowedHosts, log }: Deps) => {
  const app = new Hono<HttpEnv>();
  app.use(async (c, next) => {
    c.header('cache-control', 'no-store');
    if (!isBearer(c.req.header('authorization'), token))
      return c.body(null, 401, { 'www-authenticate': 'Bearer realm="svc internal"' });
    return next();
  });
  app.use(requestIds());
  app.use(guard(allowedHosts));
  app.get('/internal/readiness/evidence', (c) => c.json(evidence(), 200));
  app.notFound((c) => problem(c, 404, 'route-unknown', 'Cannot find the path: nothing is served there'));
  app.onError(onError(log));
  return app;
};
