/** The read API: all resources, and the middleware before them. */
import type { Hono } from 'hono';
import { matchedRoutes } from 'hono/route';
import { cassetteUnknown } from '../cassette/cassette-unknown.ts';
import type { CassetteHost } from '../cassette/host.ts';
import type { Installed } from '../cassette/installed.ts';
import { joinedDocument } from '../cassette/openapi/joined-document.ts';
import type { Database } from '../db/database.ts';
import { callers } from '../http/caller.ts';
import { compress } from '../http/compress.ts';
import { contractOf, type Document } from '../http/contract.ts';
import { deadline } from '../http/deadline.ts';
import { documentApp } from '../http/document.ts';
import { onError } from '../http/failure.ts';
import { guard } from '../http/guards.ts';
import { knownQuery } from '../http/known-query.ts';
import { refuseNul } from '../http/nul.ts';
import { payloadReads, payloadSlots } from '../http/payload-reads.ts';
import { requestIds } from '../http/request-id.ts';
import { guardFailures, type HttpEnv, routes } from '../http/routes.ts';
import { openServerTiming } from '../http/server-timing.ts';
import { strayCalls } from '../http/stray-calls.ts';
import { bearer } from '../http/token.ts';
import { unrouted } from '../http/unrouted.ts';
import { type Logger, openLog } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { PeriodBudget } from '../model/budget-settings.ts';
import type { IngestVerdict } from '../model/ingest.ts';
import type { RetentionRules } from '../model/retention.ts';
import type { Status } from '../model/status.ts';
import { type PriceOf, priceOf as publishedPrice } from '../price/prices.ts';
import { attributionRepairApp } from './attribution-repair.ts';
import { backupApp } from './backup.ts';
import { browseApp } from './browse.ts';
import { cacheApp } from './cache.ts';
import { callContextApp } from './call-context.ts';
import { cassetteMountApp } from './cassette-mount.ts';
import { cassettesApp } from './cassettes.ts';
import { coverageApp } from './coverage.ts';
import { deriveRunApp } from './derive-run.ts';
import { eventsApp } from './events.ts';
import { findApp } from './find.ts';
import { openFindCoverage } from './find-coverage.ts';
import { findTextApp } from './find-text.ts';
import { gcApp } from './gc.ts';
import { lookedAt } from './looked-at.ts';
import { cassetteTools } from './mcp/cassette-tools.ts';
import { coreTools } from './mcp/core-tools.ts';
import { mcpApp } from './mcp/mcp.ts';
import { outlineApp } from './outline.ts';
import { purgeApp } from './purge.ts';
import { purgeListApp } from './purge-list.ts';
import { decodeHere, rawTurnApp } from './raw-turn.ts';
import { rawTurnsApp } from './raw-turns.ts';
import { seedDemoApp } from './seed-demo.ts';
import { serviceApp } from './service.ts';
import { sessionEditsApp } from './session-edits.ts';
import { sessionFindApp } from './session-find.ts';
import { sessionsApp } from './sessions.ts';
import { statsApp } from './stats.ts';
import { statusApp } from './status.ts';
import { SWAGGER_PATHS, swaggerApp } from './swagger.ts';
import { tracesApp } from './traces.ts';
import { verifyApp } from './verify.ts';
import { whereIsApp } from './where-is.ts';

export type ReadApi = {
  execute: Database['execute'];
  log: Logger;
  metrics: Pick<Metrics, 'apiRequest' | 'text'>;
  version: string;
  /** Host names besides loopback, and the addresses that are bound. */
  allowedHosts: readonly string[];
  /** Empty: none is required. */
  token: string;
  /** A second token, which reads. Absent: there is none. */
  readToken?: string;
  /** Whether the header `x-svc-auth-subject` is believed. Absent: it is not. */
  trustCallerHeader?: boolean;
  /** How many spans one page of an outline may have. Absent: 20,000. */
  outlineSpans?: number;
  /** The deadline for the head of a read's response. Absent: 20 s. */
  readMs?: number;
  /** Milliseconds since 1970. */
  now: () => number;
  /** Stores a turn as the ingest listener does; takes over the body's memory. */
  append: (body: Uint8Array<ArrayBuffer>) => Promise<IngestVerdict>;
  /** A body without its content coding, decoded in another thread. Absent: it is decoded in this one. */
  decode?: (bytes: Uint8Array, contentEncoding: string) => Promise<Uint8Array>;
  /** The state of this process's journal. Absent: it has none. */
  journal?: () => Status['journal'];
  /** What has been published. Absent: nothing is to be. */
  publisher?: () => Status['publisher'];
  /** Left on the disk of the database. Absent: it is another machine's. */
  freeBytes?: () => Promise<number>;
  /** The capture proxy's port, for clients that were pointed here instead. Absent: there is none. */
  proxyPort?: () => number | null;
  /** The prices of calls. Absent: the published ones. */
  priceOf?: PriceOf;
  /** Called with each session that is read. */
  looked?: (session_id: string) => void;
  /** The rules of retention. Absent: nothing is removed by itself. */
  retention?: RetentionRules | null;
  /** Absent: none. */
  budgets?: readonly PeriodBudget[];
  /** What this process reports about itself. Absent: nothing. */
  service?: () => Status['service'];
  /** Ends streams that have no end of their own. */
  stopping?: AbortSignal;
  /** Absent: there are none, as in the contract that is sealed. */
  cassettes?: Cassettes;
  /** The browser UI. Absent: there is none. */
  pages?: Pages;
};

/** Documents and files that hold no data: they are served without a token. */
export type Pages = {
  app: Hono<HttpEnv>;
  /** Whether a path leads to a document, which a link on another site may open. */
  isDocument: (path: string) => boolean;
  /** Whether it leads to a document or a file. */
  isOpen: (path: string) => boolean;
};

/** Served without a token: what a probe and a scraper need, and the page on which people enter one. */
const WITHOUT_TOKEN = ['/ping', '/metrics', ...SWAGGER_PATHS];

/** Routes whose responses hold whole payloads; the list of raw turns does on request. */
const PAYLOADS = [
  ...['/v1/sessions/:id/traces', '/v1/traces/:trace_id', '/v1/traces/:trace_id/spans/:span_id'],
  ...['/v1/find', '/v1/sessions/:id/find', '/v1/sessions/:id/cache'],
  ...['/v1/raw_turns/:raw_turn_id/request', '/v1/raw_turns/:raw_turn_id/response'],
  ...['/v1/raw_turns/:raw_turn_id/context', '/v1/raw_turns/:raw_turn_id/blocks/:n'],
];
/** At once: fewer than the connections to a database server, so that other queries find one; some 10 MB each at worst. */
const PAYLOAD_READS = 8;
const READ_MS = 20_000;
/** A tool of MCP is called by POST, and a backup holds the key by which clients are recognised. */
const isRead = (method: string, path: string): boolean =>
  (['GET', 'HEAD'].includes(method) && path !== '/v1/admin/backup') || (method === 'POST' && path === '/v1/mcp');
/** Operators wait as long as it takes, agents have deadlines of their own, and the mount has one for cassettes. */
const WITHOUT_DEADLINE = /^\/v1\/(?:admin\/|mcp$|cassettes\/)/;

/** What cassettes answer has the headers that they give it. */
const OTHERS = /^\/v1\/cassettes\//;

type Cassettes = Pick<CassetteHost, 'installed' | 'version' | 'answer' | 'fetch'>;

const NO_CASSETTES: Cassettes = {
  installed: () => [],
  version: () => '',
  answer: () => Promise.reject(cassetteUnknown()),
  fetch: () => Promise.reject(cassetteUnknown()),
};

export function readApi(options: ReadApi) {
  const timing = openServerTiming();
  const execute: Database['execute'] = (name, args, executeOptions) =>
    timing.measure(() => options.execute(name, args, executeOptions));
  const {
    append,
    log,
    metrics,
    version,
    allowedHosts,
    token,
    now,
    journal = () => undefined,
    publisher = () => undefined,
    service = () => undefined,
    freeBytes = () => Promise.resolve(undefined),
  } = options;
  const { cassettes = NO_CASSETTES, pages, priceOf = publishedPrice } = options;
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
  app.use('/v1/*', (c, next) => (OTHERS.test(c.req.path) ? next() : timing.middleware(c, next)));
  app.use(compress());
  app.use(guard(allowedHosts, pages?.isDocument));
  app.use(strayCalls({ what: 'read API', proxyPort: options.proxyPort ?? (() => null) }));
  const isOpen = (path: string) => WITHOUT_TOKEN.includes(path) || pages?.isOpen(path) === true;
  app.use(bearer({ full: token, read: options.readToken ?? '' }, { isOpen, isRead }));
  app.use(callers(options.trustCallerHeader ?? false));
  app.use('/v1/cassettes/*', refuseNul());
  app.use('/v1/*', knownQuery(app, { '/v1/sessions': '/v1/browse/sessions' }));
  const readDeadline = deadline(options.readMs ?? READ_MS);
  app.use('/v1/*', (c, next) => (WITHOUT_DEADLINE.test(c.req.path) ? next() : readDeadline(c, next)));
  const looked = lookedAt(options.looked ?? (() => {}));
  for (const path of ['/v1/sessions/:id', '/v1/sessions/:id/*']) app.use(path, looked);
  const takePlace = payloadSlots(PAYLOAD_READS);
  const limitReaders = payloadReads(takePlace);
  for (const path of PAYLOADS) app.use(path, limitReaders);
  app.use('/v1/sessions/:id/raw_turns', (c, next) => (c.req.query('include') ? limitReaders(c, next) : next()));
  app.use('/v1/traces/:trace_id/spans', (c, next) =>
    c.req.query('payload') === 'full' ? limitReaders(c, next) : next(),
  );
  app.route('/', serviceApp({ metrics: () => metrics.text() }));
  app.route('/', sessionsApp({ execute, now }));
  app.route('/', sessionEditsApp({ execute, now }));
  app.route('/', browseApp({ execute, now }));
  const findCoverage = openFindCoverage(execute);
  app.route('/', findApp({ execute, coverage: findCoverage }));
  app.route('/', sessionFindApp({ execute, log }));
  app.route('/', outlineApp({ execute, pageSpans: options.outlineSpans }));
  app.route('/', tracesApp({ execute, now, log }));
  app.route('/', rawTurnsApp({ execute, log }));
  app.route('/', rawTurnApp({ execute, decode: options.decode ?? decodeHere }));
  app.route('/', callContextApp({ execute, priceOf }));
  app.route('/', cacheApp({ execute, priceOf }));
  app.route('/', whereIsApp({ execute }));
  app.route('/', coverageApp({ execute }));
  app.route('/', eventsApp({ execute, now, log, stopping: options.stopping }));
  app.route('/', statsApp({ execute }));
  app.route('/', cassettesApp({ installed: cassettes.installed }));
  app.route('/', cassetteMountApp({ cassettes, log }));
  const joined = () => cassetteTools(cassettes.installed(), cassettes.fetch);
  const offering = { installed: cassettes.installed, send: cassettes.fetch };
  app.route(
    '/',
    mcpApp({ tools: coreTools({ execute, now, takePlace, priceOf }), joined, cassettes: offering, version, log }),
  );
  const { retention = null, budgets = [] } = options;
  app.route(
    '/',
    statusApp({
      ...{ execute, version, journal, publisher, findCoverage, freeBytes, service, retention, budgets },
      ...{ startedAt: now(), now },
    }),
  );
  app.route('/', deriveRunApp({ execute }));
  app.route('/', backupApp({ execute, version, log }));
  app.route('/', verifyApp({ execute, log }));
  app.route('/', findTextApp({ execute, log }));
  app.route('/', purgeListApp({ execute }));
  app.route('/', purgeApp({ execute }));
  app.route('/', gcApp({ execute, stopping: options.stopping }));
  app.route('/', attributionRepairApp({ execute, log }));
  app.route('/', seedDemoApp({ append, derived: derivedBy(execute), now }));
  app.route('/', swaggerApp());
  if (pages) app.route('/', pages.app);
  app.route(
    '/',
    documentApp(
      () =>
        joinedDocument(contractOf(app, { ...ABOUT, version }), documentsOf(cassettes.installed()), (cassette, reason) =>
          log.warn({ cassette, reason }, 'the document of a cassette is left out of /openapi: it cannot be joined'),
        ),
      guardFailures,
      cassettes.version,
    ),
  );
  app.onError(onError(log));
  app.notFound(unrouted(app));
  return app;
}

/** The contracts of cassettes that are admitted, or were and are still in the list. */
const documentsOf = (installed: readonly Installed[]) =>
  installed.flatMap(({ entry, document }) => (document ? [{ name: entry.name, document: document.document }] : []));

/** Whether sessions are derived up to their last turn; one that failed too often (parked) counts as derived. */
const derivedBy = (execute: Database['execute']) => async (session_ids: string[]) =>
  (await execute('markedPending', { session_ids, marked_at: 'infinity' })).pending === 0;

const ABOUT = { title: 'svc read API', bearer: true };

/** The contract, compiled from the routes without a database behind them. */
export const readContract = (version: string): Document =>
  contractOf(
    readApi({
      execute: () => Promise.reject(new Error('Cannot ask: no database is behind a contract')),
      append: () => Promise.reject(new Error('Cannot append: no database is behind a contract')),
      log: openLog('silent'),
      metrics: { apiRequest: () => {}, text: () => Promise.resolve('') },
      version,
      allowedHosts: [],
      token: '',
      now: () => 0,
    }),
    { ...ABOUT, version },
  );
