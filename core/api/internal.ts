/**
 * The internal listener: what operators may know and the read API does not show. It requires its own token for all but the two probes of
 * an orchestrator, which cannot hold a secret; nothing of it is contract.
 */
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

/** `reasons`: why it is not ready. `remarks`: what an operator should know although it is. Both may be shown to anybody. */
export type Readiness = { ready: boolean; reasons: string[]; remarks: string[] };

type Deps = {
  /** Absent: cassettes do not run in this process. */
  evidence?: () => CassetteEvidence;
  ready: () => Promise<Readiness>;
  /** The text exposition. */
  metrics: () => Promise<string>;
  token: string;
  allowedHosts: readonly string[];
  log: Logger;
};

const PROBES = ['/ping', '/ready'];

/** Without the token every path but the probes is 401, so that nobody learns even what is served. */
export const internalApi = ({ evidence, ready, metrics, token, allowedHosts, log }: Deps) => {
  const app = new Hono<HttpEnv>();
  app.use(async (c, next) => {
    c.header('cache-control', 'no-store');
    const isProbe = ['GET', 'HEAD'].includes(c.req.method) && PROBES.includes(c.req.path);
    if (!isProbe && !isBearer(c.req.header('authorization'), token))
      return c.body(null, 401, { 'www-authenticate': 'Bearer realm="svc internal"' });
    return next();
  });
  app.use(requestIds());
  app.use(guard(allowedHosts));
  app.get('/ping', (c) => c.json({ status: 'ok' }, 200));
  app.get('/ready', async (c) => {
    const { ready: isReady, reasons, remarks } = await ready();
    const shown = { status: isReady ? 'ready' : 'unready', reasons, remarks };
    return isReady ? c.json(shown, 200) : c.json(shown, 503, { 'retry-after': '1' }); // seconds
  });
  if (evidence) app.get('/internal/readiness/evidence', (c) => c.json(evidence(), 200));
  app.get('/metrics', async (c) => c.body(await metrics(), 200, { 'content-type': METRICS_TYPE }));
  app.notFound((c) => problem(c, 404, 'route-unknown', 'Cannot find the path: nothing is served there'));
  app.onError(onError(log));
  return app;
};
