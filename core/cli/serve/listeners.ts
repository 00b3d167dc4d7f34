/** Opens the listeners of a process: the app, guard and address of each. */
import { statfs } from 'node:fs/promises';
import { complaint, ingestApi } from '../../../ingest/app.ts';
import { type Pages, readApi } from '../../api/app.ts';
import { openLooks } from '../../api/looked-at.ts';
import { parseListen } from '../../config/listen.ts';
import type { Config } from '../../config/schema.ts';
import type { Database } from '../../db/database.ts';
import { serveApp } from '../../http/listen.ts';
import { budgetsOf } from '../../model/budget-settings.ts';
import { retentionRules } from '../../model/retention.ts';
import type { Service } from '../../model/status.ts';
import { pricesWith } from '../../price/price-file.ts';
import { priceOf } from '../../price/prices.ts';
import { builtAssets, openAssets } from '../../web/assets.ts';
import { webApp } from '../../web/web-app.ts';
import type { Cassettes } from './cassettes.ts';
import { openInternal } from './internal-listener.ts';
import {
  exposition,
  hostsOf,
  type Listeners,
  listenAt,
  type OpenListener,
  type Process,
  together,
} from './listening.ts';

type Parts = Process & {
  database: Database;
  /** Why the database cannot be used; null: it can. */
  databaseReady: () => Promise<string | null>;
  proxyPort?: () => number | null;
};
/** A process with the read API serves cassettes. */
type ApiParts = Parts & { cassettes: Cassettes; about: About };
type About = Omit<Service, 'listeners' | 'processes'>;

/**
 * Opens read API and ingest API, and the internal listener where it is configured.
 * @throws {OperatorError} an address is taken or is not this machine's; then none of them listens
 */
export const openListeners = (all: ApiParts): Promise<Listeners> =>
  together(async (register) => {
    const hosts = hostsOf(all.config, ['proxy', 'api', 'ingest']);
    const bound: Service['listeners'] = { proxy: all.addresses.proxy?.urls ?? [], api: [], ingest: [] }; // filled in below
    const parts = { ...all, proxyPort: () => portOf(bound.proxy[0]) };
    const service = () => ({ ...all.about, listeners: bound, processes: all.processes() });
    bound.api = register(await openApi(parts, hosts, service)).addresses;
    bound.ingest = register(await openIngest(parts, hosts)).addresses;
    const internal = await openInternal(parts, register);
    return { ...bound, internal };
  });

/** Opens the read API, and the internal listener where it is configured. @throws {OperatorError} as `openListeners` does */
export const openApiListeners = (parts: ApiParts): Promise<Listeners> =>
  together(async (register) => {
    const bound: Service['listeners'] = { proxy: [], api: [], ingest: [] }; // filled in below
    const service = () => ({ ...parts.about, listeners: bound, processes: parts.processes() });
    bound.api = register(await openApi(parts, hostsOf(parts.config, ['api']), service)).addresses;
    return { ...bound, internal: await openInternal(parts, register) };
  });

const portOf = (address: string | undefined): number | null => (address ? Number(new URL(address).port) : null);

/** Opens the ingest API, and the internal listener where it is configured. @throws {OperatorError} as `openListeners` does */
export const openIngestListeners = (parts: Parts): Promise<Listeners> =>
  together(async (register) => {
    const ingest = register(await openIngest(parts, hostsOf(parts.config, ['ingest']))).addresses;
    return { api: [], proxy: [], ingest, internal: await openInternal(parts, register) };
  });

async function openApi(parts: ApiParts, allowedHosts: string[], service: () => Service): Promise<OpenListener> {
  const { config, database, engine, journal, cassettes, log, version } = parts;
  const { token, read_token: readToken } = config.api;
  if (!parseListen(config.api.listen).loopback && token === '')
    log.warn(
      { listen: config.api.listen },
      'the read API is open to other machines and asks for no token: set SVC_API_TOKEN',
    );
  const stopping = new AbortController();
  const api = readApi({
    execute: database.execute,
    append: (body) => engine.ingest(body, null),
    decode: engine.decode,
    log,
    metrics: { apiRequest: parts.metrics.apiRequest, text: () => exposition(parts) },
    version,
    allowedHosts,
    token,
    readToken,
    trustCallerHeader: config.api.trust_caller_header,
    now: Date.now,
    ...(parts.prices && { priceOf: pricesWith(parts.prices, priceOf) }),
    looked: openLooks(database.execute, Date.now),
    ...(journal && { journal: () => ({ bytes: journal.bytes(), oldest_seconds: engine.oldestSeconds() }) }),
    publisher: () => engine.publisher() ?? undefined,
    service,
    retention: retentionRules(config.retention),
    budgets: budgetsOf(config.budget)?.budgets ?? [],
    ...(database.kind === 'embedded' && { freeBytes: () => freeBytesAt(parts.about.folder) }),
    stopping: stopping.signal,
    cassettes: cassettes.host,
    ...(config.api.web_ui && { pages: pagesOf(config, version) }),
    ...(parts.proxyPort && { proxyPort: parts.proxyPort }),
  });
  cassettes.connect((request) => api.fetch(request));
  const served = await serveApp({
    fetch: api.fetch,
    ...listenAt(parts, 'api'),
    what: 'read API',
    basePath: config.api.base_path,
  });
  return {
    ...served,
    close: (graceMs) => {
      stopping.abort(); // ends the event streams, which never end by themselves
      return served.close(graceMs);
    },
  };
}

const pagesOf = ({ api: { token, base_path: basePath } }: Config, version: string): Pages =>
  webApp({ assets: openAssets(builtAssets()), basePath, version, wantsToken: token !== '' });

async function freeBytesAt(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

function openIngest(parts: Parts, allowedHosts: string[]): Promise<OpenListener> {
  const { config, engine, metrics, log, version, database } = parts;
  const ingest = ingestApi({
    append: engine.ingest,
    appendTranscript: engine.transcript,
    log,
    metrics: { ...metrics, text: () => exposition(parts) },
    version,
    allowedHosts,
    trustCallerHeader: config.api.trust_caller_header,
    installation: installationOf(database),
    ...(parts.proxyPort && { proxyPort: parts.proxyPort }),
  });
  return serveApp({
    fetch: ingest.fetch,
    ...listenAt(parts, 'ingest'),
    what: 'ingest API',
    complaint,
    asksForBodies: true,
  });
}

/** The installation's id, without waiting for the database: '' until that has given it. */
function installationOf(database: Database): () => string {
  let id = '';
  let isReading = false;
  const read = async () => {
    if (isReading || id !== '') return;
    isReading = true;
    try {
      id = (await database.execute('installation', {})).installation_id;
    } catch {} // the database is away: the next call tries again
    isReading = false;
  };
  return () => {
    void read();
    return id;
  };
}
