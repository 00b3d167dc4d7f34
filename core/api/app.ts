/** The read API: which resources it joins, and what stands before all of them. */
import { matchedRoutes } from 'hono/route';
import type { Database } from '../db/database.ts';
import { contractOf, type Document } from '../http/contract.ts';
import { documentHandler } from '../http/document.ts';
import { onError } from '../http/failure.ts';
import { guard } from '../http/guards.ts';
import { requestIds } from '../http/request-id.ts';
import { type HttpEnv, routes } from '../http/routes.ts';
import { bearer } from '../http/token.ts';
import { unrouted } from '../http/unrouted.ts';
import { type Log, openLog } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { IngestVerdict } from '../model/ingest.ts';
import { coverageApp } from './coverage.ts';
import { deriveRunApp } from './derive-run.ts';
import { rawTurnsApp } from './raw-turns.ts';
import { seedDemoApp } from './seed-demo.ts';
import { serviceApp } from './service.ts';
import { sessionsApp } from './sessions.ts';
import { statsApp } from './stats.ts';
import { statusApp } from './status.ts';
import { swaggerApp } from './swagger.ts';
import { tracesApp } from './traces.ts';

export type ReadApi = {
  ask: Database['ask'];
  log: Log;
  metrics: Pick<Metrics, 'apiRequest' | 'text'>;
  version: string;
  /** Host names besides loopback, and the addresses that are bound. */
  allowedHosts: readonly string[];
  /** Empty: nobody is asked for one. */
  token: string;
  /** Milliseconds since 1970. */
  now: () => number;
  /** Keeps a turn as the ingest listener does; takes the body's memory over. */
  append: (body: Uint8Array<ArrayBuffer>) => Promise<IngestVerdict>;
  /** What the journal of this process takes on disk. Absent: it keeps none. */
  journalBytes?: () => number | null;
};

/** Told to nobody before it is asked for: what a probe and a scraper need. */
const OPEN = ['/ping', '/metrics'];

export function readApi(parts: ReadApi) {
  const { ask, append, log, metrics, version, allowedHosts, token, now, journalBytes = () => null } = parts;
  const app = routes<HttpEnv>();
  app.use(requestIds());
  app.use(async (c, next) => {
    const began = performance.now();
    await next();
    const route = matchedRoutes(c).findLast(({ method }) => method !== 'ALL')?.path ?? 'unmatched';
    metrics.apiRequest({
      route,
      method: c.req.method,
      status: c.res.status,
      seconds: (performance.now() - began) / 1000,
    });
  });
  app.use(guard(allowedHosts));
  app.use(bearer(token, OPEN));
  app.use('/v1/*', async (c, next) => {
    c.header('cache-control', 'no-store'); // conversations do not belong into a cache
    await next();
  });
  app.route('/', serviceApp({ metrics: () => metrics.text() }));
  app.route('/', sessionsApp({ ask, now }));
  app.route('/', tracesApp({ ask, now, log }));
  app.route('/', rawTurnsApp({ ask, log }));
  app.route('/', coverageApp({ ask }));
  app.route('/', statsApp({ ask }));
  app.route('/', statusApp({ ask, version, journalBytes, startedAt: now(), now }));
  app.route('/', deriveRunApp({ ask }));
  app.route('/', seedDemoApp({ append, derived: derivedBy(ask), now }));
  app.route('/', swaggerApp());
  app.get(
    '/openapi',
    documentHandler(() => contractOf(app, { title: TITLE, version })),
  );
  app.onError(onError(log));
  app.notFound(unrouted(app));
  return app;
}

/** Whether sessions are derived up to their last turn; one that failed too often is not waited for. */
const derivedBy = (ask: Database['ask']) => async (session_ids: string[]) =>
  (await ask('markedPending', { session_ids, marked_at: 'infinity' })).pending === 0;

const TITLE = 'svc read API';

/** The contract, compiled from the routes without a database behind them. */
export const readContract = (version: string): Document =>
  contractOf(
    readApi({
      ask: () => Promise.reject(new Error('Cannot ask: no database is behind a contract')),
      append: () => Promise.reject(new Error('Cannot append: no database is behind a contract')),
      log: openLog('silent'),
      metrics: { apiRequest: () => {}, text: () => Promise.resolve('') },
      version,
      allowedHosts: [],
      token: '',
      now: () => 0,
    }),
    { title: TITLE, version },
  );
