/** What does each listener need? Its app, its guard and its address; those of a process come up together and go down together. */
import { complaint, ingestApi } from '../../ingest/app.ts';
import type { Egress } from '../../proxy/egress.ts';
import { startProxy } from '../../proxy/listen.ts';
import { requestId } from '../../proxy/request-id.ts';
import { openUpstreams } from '../../proxy/upstream.ts';
import { readApi } from '../api/app.ts';
import { internalApi } from '../api/internal.ts';
import { instantNow } from '../capture/clock.ts';
import type { Journal } from '../capture/journal.ts';
import { evidenceOf } from '../cassette/evidence.ts';
import type { Environment } from '../config/environment.ts';
import { parseListen } from '../config/listen.ts';
import type { Config } from '../config/schema.ts';
import type { Database } from '../db/database.ts';
import type { Engine } from '../engine/engine.ts';
import { refuseForeign } from '../http/guards.ts';
import { serveApp } from '../http/listen.ts';
import type { Log } from '../log.ts';
import type { Metrics, MetricsSnapshot } from '../metrics.ts';
import type { Outcome } from '../model/coverage.ts';
import type { ProviderId } from '../model/provider.ts';
import { formatOf } from '../provider/formats.ts';
import type { Cassettes } from './cassettes.ts';
import { instanceOf } from './instance.ts';
import { internalOf } from './internal-listen.ts';

type Parts = {
  config: Config;
  database: Database;
  engine: Engine;
  metrics: Metrics;
  log: Log;
  version: string;
  env: Environment;
  journal?: Journal;
  cassettes?: Cassettes;
};
/** A process that runs them all keeps a journal, and serves cassettes. */
type AllParts = Parts & { journal: Journal; cassettes: Cassettes };

/** Addresses as `http://127.0.0.1:8080`, one for each host that is listened on; none for what does not run here. */
export type Listeners = {
  proxy: string[];
  api: string[];
  ingest: string[];
  internal: string[];
  close(graceMs: number): Promise<void>;
};

/** Why a request is no turn, where nobody but the proxy can tell; the other reasons are counted by intake. */
const KNOWN_AT_THE_PROXY: readonly Outcome[] = ['not_a_turn', 'unsupported_format', 'journal_full', 'disabled'];

/** Capture proxy, read API and ingest API, and the internal listener where it is asked for. @throws {OperatorError} an address is taken or is not this machine's; then none of them listens */
export const openListeners = (parts: AllParts): Promise<Listeners> =>
  together(async (kept) => {
    const hosts = hostsOf(parts.config, ['proxy', 'api', 'ingest']);
    return {
      api: kept(await openApi(parts, hosts)).addresses,
      ingest: kept(await openIngest(parts, hosts)).addresses,
      internal: await openInternal(parts, kept),
      proxy: kept(await openProxy(parts, hosts)).addresses,
    };
  });

/** The ingest API alone. @throws {OperatorError} its address is taken or is not this machine's */
export const openIngestListener = (parts: Parts): Promise<Listeners> =>
  together(async (kept) => {
    const hosts = hostsOf(parts.config, ['ingest']);
    return { api: [], proxy: [], internal: [], ingest: kept(await openIngest(parts, hosts)).addresses };
  });

type Opened = { addresses: string[]; close(graceMs: number): Promise<void> };
type Keep = <T extends Opened>(listener: T) => T;

/** What is opened in turn is closed together, also when a later one cannot be opened. */
async function together(open: (kept: Keep) => Promise<Omit<Listeners, 'close'>>): Promise<Listeners> {
  const opened: Opened[] = [];
  const close = async (graceMs: number) => {
    await Promise.all(opened.map((listener) => listener.close(graceMs)));
  };
  try {
    const addresses = await open((listener) => {
      opened.push(listener);
      return listener;
    });
    return { ...addresses, close };
  } catch (error) {
    await close(0);
    throw error;
  }
}

/** Whoever may ask one of our listeners may name any of them. */
const hostsOf = (config: Config, sections: ('proxy' | 'api' | 'ingest')[]): string[] => [
  ...config.allowed_hosts,
  ...sections.flatMap((section) => parseListen(config[section].listen).hosts),
];

async function openApi(parts: AllParts, allowedHosts: string[]): Promise<Opened> {
  const { config, database, engine, journal, cassettes, log, version } = parts;
  const at = parseListen(config.api.listen);
  const { token } = config.api;
  if (!at.loopback && token === '')
    log.warn(
      { listen: config.api.listen },
      'the read API is open to other machines and asks for no token: set SVC_API_TOKEN',
    );
  const stopping = new AbortController();
  const api = readApi({
    ask: database.ask,
    append: (body) => engine.ingest(body, null),
    log,
    metrics: { apiRequest: parts.metrics.apiRequest, text: () => exposition(parts) },
    version,
    allowedHosts,
    token,
    trustCallerHeader: config.api.trust_caller_header,
    now: Date.now,
    journalBytes: () => journal.bytes(),
    stopping: stopping.signal,
    cassettes: cassettes.host,
  });
  cassettes.connect((request) => api.fetch(request));
  const served = await serveApp({ fetch: api.fetch, ...at, what: 'read API' });
  return {
    ...served,
    close: (graceMs) => {
      stopping.abort(); // what would be told for ever ends now
      return served.close(graceMs);
    },
  };
}

/** Which cassettes are in, for operators alone; nothing where `SVC_INTERNAL_LISTEN` names no address. */
async function openInternal({ config, cassettes, env, log }: AllParts, kept: Keep): Promise<string[]> {
  const internal = internalOf(env);
  if (!internal) return [];
  const instance = instanceOf(env, Date.now());
  const evidence = () =>
    evidenceOf({ instance, list: cassettes.host.list(), installed: cassettes.host.installed(), now: Date.now() });
  const allowedHosts = [...config.allowed_hosts, ...internal.at.hosts];
  const { fetch } = internalApi({ evidence, token: internal.token, allowedHosts, log });
  return kept(await serveApp({ fetch, ...internal.at, what: 'internal listener' })).addresses;
}

function openIngest(parts: Parts, allowedHosts: string[]): Promise<Opened> {
  const { config, engine, metrics, log, version } = parts;
  const ingest = ingestApi({
    append: engine.ingest,
    appendTranscript: engine.transcript,
    log,
    metrics: { ...metrics, text: () => exposition(parts) },
    version,
    allowedHosts,
    trustCallerHeader: config.api.trust_caller_header,
  });
  const at = parseListen(config.ingest.listen);
  return serveApp({ fetch: ingest.fetch, ...at, what: 'ingest API', complaint, asksForBodies: true });
}

async function openProxy(parts: AllParts, allowedHosts: string[]): Promise<Opened> {
  const { config, database, journal, log, metrics } = parts;
  const { identity_key } = await database.ask('installation', {});
  const upstreams = openUpstreams(egressOf(parts.env));
  const at = parseListen(config.proxy.listen);
  const deps = {
    config,
    upstreams,
    journal,
    formatOf,
    identityKey: Buffer.from(identity_key, 'hex'),
    refuse: refuseForeign(allowedHosts),
    count: (provider: ProviderId, outcome: Outcome) => {
      metrics.proxyRequest(provider, outcome);
      if (KNOWN_AT_THE_PROXY.includes(outcome)) metrics.notCaptured(outcome);
    },
    addedTtfb: metrics.addedTtfb,
    now: instantNow,
    newId: requestId,
    log,
  };
  const shut = () => upstreams.close();
  const { addresses, close } = await startProxy(deps, at).catch((error: unknown) => {
    shut();
    throw error;
  });
  return { addresses, close: (graceMs) => close(graceMs).finally(shut) };
}

/** The whole process's metrics: this thread's, and the engine's. */
async function exposition({ metrics, journal, engine, cassettes }: Parts): Promise<string> {
  if (journal) metrics.journalBytes(journal.bytes());
  if (cassettes)
    metrics.cassettes(
      cassettes.host.installed().map(({ entry: { name }, state, liveness, progress }) => ({
        name,
        admitted: state === 'admitted',
        restarts: liveness?.restarts ?? 0,
        progress,
      })),
    );
  return metrics.text([(await engine.metrics()) as MetricsSnapshot]);
}

const egressOf = (env: Environment): Egress => ({
  httpProxy: env.HTTP_PROXY ?? env.http_proxy ?? '',
  httpsProxy: env.HTTPS_PROXY ?? env.https_proxy ?? '',
  noProxy: env.NO_PROXY ?? env.no_proxy ?? '',
});
