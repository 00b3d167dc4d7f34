/** The ingest API: takes what trusted clients have captured themselves. Every no it says is exactly `{"error": "…"}`. */
import { createRoute, z } from '@hono/zod-openapi';
import { contractOf, type Document } from '../core/http/contract.ts';
import { documentHandler } from '../core/http/document.ts';
import { onError } from '../core/http/failure.ts';
import { guard } from '../core/http/guards.ts';
import type { Answer } from '../core/http/problem.ts';
import { requestIds } from '../core/http/request-id.ts';
import { type HttpEnv, json, routes } from '../core/http/routes.ts';
import { unrouted } from '../core/http/unrouted.ts';
import { type Log, openLog } from '../core/log.ts';
import { METRICS_TYPE, type Metrics } from '../core/metrics.ts';

export type IngestApi = {
  log: Log;
  metrics: Pick<Metrics, 'text'>;
  version: string;
  /** Host names besides loopback, and the addresses that are bound. */
  allowedHosts: readonly string[];
};

const Health = z.object({ status: z.literal('ok') }).openapi('Health', { examples: [{ status: 'ok' }] });
const Rejection = z
  .object({ error: z.string() })
  .openapi('Rejection', { examples: [{ error: 'Cannot find the path: nothing is served there' }] });

const ping = createRoute({
  method: 'get',
  path: '/ping',
  operationId: 'ping',
  summary: 'Answers as long as the service runs',
  responses: {
    200: json(Health, 'It runs'),
    403: json(Rejection, 'Asked for under a foreign host name, or by a foreign web page'),
    500: json(Rejection, 'Internal error'),
  },
});

/** The envelope of every rejection. */
export const rejection: Answer = (c, status, _code, error) => c.json({ error }, status);

export function ingestApi({ log, metrics, version, allowedHosts }: IngestApi) {
  const app = routes<HttpEnv>();
  app.use(requestIds());
  app.use(guard(allowedHosts));
  app.openapi(ping, (c) => c.json({ status: 'ok' } as const, 200));
  app.get('/metrics', async (c) => c.body(await metrics.text(), 200, { 'content-type': METRICS_TYPE }));
  app.get(
    '/openapi',
    documentHandler(() => contractOf(app, { title: TITLE, version })),
  );
  app.onError(onError(log, rejection));
  app.notFound(unrouted(app, rejection));
  return app;
}

/** What is answered to bytes that are no HTTP request. */
export const malformed = { type: 'application/json', body: '{"error":"Cannot read the request: it is malformed"}' };

const TITLE = 'svc ingest API';

/** The contract, compiled from the routes alone. */
export const ingestContract = (version: string): Document =>
  contractOf(
    ingestApi({ log: openLog('silent'), metrics: { text: () => Promise.resolve('') }, version, allowedHosts: [] }),
    { title: TITLE, version },
  );
