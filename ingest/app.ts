/** The ingest API: takes what trusted clients have captured themselves. The body of every refusal is exactly `{"error": "…"}`. */
import { createRoute, z } from '@hono/zod-openapi';
import { contractOf, type Document } from '../core/http/contract.ts';
import { documentApp } from '../core/http/document.ts';
import { onError } from '../core/http/failure.ts';
import { guard } from '../core/http/guards.ts';
import type { Complaint } from '../core/http/listen.ts';
import { requestIds } from '../core/http/request-id.ts';
import { type HttpEnv, json, routes } from '../core/http/routes.ts';
import { strayCalls } from '../core/http/stray-calls.ts';
import { unrouted } from '../core/http/unrouted.ts';
import { type Logger, openLog } from '../core/log.ts';
import { METRICS_TYPE, type Metrics } from '../core/metrics.ts';
import { sizeLimit } from './body.ts';
import { openByteSemaphore } from './read-body.ts';
import { REJECTIONS, Rejection, rejection } from './rejection.ts';
import { type AppendTranscript, transcriptsApp } from './transcripts.ts';
import { type AppendTurn, turnsApp } from './turns.ts';

export type IngestApi = {
  /** Parses, reads and stores the turn, off this thread. */
  append: AppendTurn;
  appendTranscript: AppendTranscript;
  log: Logger;
  metrics: Pick<Metrics, 'text' | 'ingestWrite' | 'ingestBody' | 'ingestWait'>;
  version: string;
  /** Allowed host names besides loopback, and the addresses that are bound. */
  allowedHosts: readonly string[];
  /** Whether the header `x-svc-auth-subject` is trusted. */
  trustCallerHeader: boolean;
  /** Names the database behind it; '' while that is not known. */
  installation?: () => string;
  /** The port of the capture proxy, for clients that call here by mistake. Absent: there is none. */
  proxyPort?: () => number | null;
};

/** The limit for bodies in memory, over all requests, from their first byte to their response. */
const BODIES_BYTES = 64 * 1024 * 1024;

/** By it a client that sends transcripts recognises the service, and knows what it has sent to this database before. */
const INSTALLATION_HEADER = 'x-svc-installation';

const Health = z.object({ status: z.literal('ok') }).openapi('Health', { examples: [{ status: 'ok' }] });

const refusals = {
  403: json(Rejection, 'Asked for under a foreign host name, or by a foreign web page'),
  500: json(Rejection, 'Internal error'),
};

const ping = createRoute({
  method: 'get',
  path: '/ping',
  operationId: 'ping',
  tags: ['service'],
  summary: 'Answers as long as the service runs',
  responses: {
    200: {
      ...json(Health, 'It runs'),
      headers: {
        [INSTALLATION_HEADER]: {
          description: 'names the database behind it; empty while that is not known',
          schema: { type: 'string' },
        },
      },
    },
    ...refusals,
  },
});

export function ingestApi(parts: IngestApi) {
  const { append, appendTranscript, log, metrics, version, allowedHosts, trustCallerHeader } = parts;
  const deps = { trustCallerHeader, room: openByteSemaphore(BODIES_BYTES), log, metrics };
  const app = routes<HttpEnv>();
  app.use(requestIds());
  app.use(guard(allowedHosts));
  app.use(
    strayCalls({
      what: 'ingest API',
      proxyPort: parts.proxyPort ?? (() => null),
      answer: (c, message) => rejection(c, 404, 'route-unknown', message),
    }),
  );
  app.use(sizeLimit({ log, metrics }));
  app.openapi(ping, (c) => {
    c.header(INSTALLATION_HEADER, parts.installation?.() ?? '');
    return c.json({ status: 'ok' } as const, 200);
  });
  app.route('/', turnsApp({ ...deps, append }));
  app.route('/', transcriptsApp({ ...deps, append: appendTranscript }));
  app.get('/metrics', async (c) => c.body(await metrics.text(), 200, { 'content-type': METRICS_TYPE }));
  app.route(
    '/',
    documentApp(() => contractOf(app, { ...ABOUT, version }), refusals),
  );
  app.onError(onError(log, rejection));
  app.notFound(unrouted(app, rejection));
  return app;
}

/** The response to bytes that are no HTTP request. */
export const complaint: Complaint = (_status, error) => ({ type: 'application/json', body: JSON.stringify({ error }) });

const ABOUT = { title: 'svc ingest API', failures: REJECTIONS };

const unanswered = () => Promise.reject(new Error('Cannot append: no database is behind a contract'));

/** The contract, compiled from the routes without a database. */
export const ingestContract = (version: string): Document =>
  contractOf(
    ingestApi({
      append: unanswered,
      appendTranscript: unanswered,
      log: openLog('silent'),
      metrics: { text: () => Promise.resolve(''), ingestWrite: () => {}, ingestBody: () => {}, ingestWait: () => {} },
      version,
      allowedHosts: [],
      trustCallerHeader: false,
    }),
    { ...ABOUT, version },
  );
