/** The internal listener: what operators may know and the read API does not show. It requires its own token; nothing of it is contract. */
import { Hono } from 'hono';
import type { CassetteEvidence } from '../cassette/evidence.ts';
import { onError } from '../http/failure.ts';
import { guard } from '../http/guards.ts';
import { problem } from '../http/problem.ts';
import { requestIds } from '../http/request-id.ts';
import type { HttpEnv } from '../http/routes.ts';
import { isBearer } from '../http/token.ts';
import type { Logger } from '../log.ts';
import { METRICS_TYPE } from '../metrics.ts';

type Deps = {
  /** Absent: cassettes do not run in this process. */
  evidence?: () => CassetteEvidence;
  /** The text exposition, for a process that has no other listener for it. */
  metrics?: () => Promise<string>;
  token: string;
  allowedHosts: readonly string[];
  log: Logger;
};

/** Without the token every path is 401, so that nobody learns even what is served. */
export const internalApi = ({ evidence, metrics, token, allowedHosts, log }: Deps) => {
  const app = new Hono<HttpEnv>();
  app.use(async (c, next) => {
    c.header('cache-control', 'no-store');
    if (!isBearer(c.req.header('authorization'), token))
      return c.body(null, 401, { 'www-authenticate': 'Bearer realm="svc internal"' });
    return next();
  });
  app.use(requestIds());
  app.use(guard(allowedHosts));
  if (evidence) app.get('/internal/readiness/evidence', (c) => c.json(evidence(), 200));
  if (metrics) {
    app.get('/ping', (c) => c.json({ status: 'ok' }, 200));
    app.get('/metrics', async (c) => c.body(await metrics(), 200, { 'content-type': METRICS_TYPE }));
  }
  app.notFound((c) => problem(c, 404, 'route-unknown', 'Cannot find the path: nothing is served there'));
  app.onError(onError(log));
  return app;
};
