/** Opens the listeners of a process: the app, guard and address of each. */
import { statfs } from 'node:fs/promises';
import { complaint, ingestApi } from '../../../ingest/app.ts';
import { type Pages, readApi } from '../../api/app.ts';
import { internalApi } from '../../api/internal.ts';
import { openLooks } from '../../api/looked-at.ts';
import { evidenceOf } from '../../cassette/evidence.ts';
import { parseListen } from '../../config/listen.ts';
import type { Config } from '../../config/schema.ts';
import type { Database } from '../../db/database.ts';
import { serveApp } from '../../http/listen.ts';
import { retentionRules } from '../../model/retention.ts';
import type { Service } from '../../model/status.ts';
import { builtAssets, openAssets } from '../../web/assets.ts';
import { webApp } from '../../web/web-app.ts';
import type { Cassettes } from './cassettes.ts';
import { instanceOf } from './instance.ts';
import { internalOf } from './internal-listen.ts';
import {
  exposition,
  hostsOf,
  type Keep,
  type Listeners,
  listenAt,
  type OpenListener,
  type Process,
  together,
} from './listening.ts';

type Parts = Process & { database: Database; proxyPort?: () => number | null };
/** A process with all listeners has a journal, and serves cassettes. */
type AllParts = Parts & { journalBytes: () => number; cassettes: Cassettes; about: About };
type About = Omit<Service, 'listeners' | 'processes'>;

/**
 * Opens read API and ingest API, and the internal listener where it is configured.
 * @throws {OperatorError} an address is taken or is not this machine's; then none of them listens
 */
export const openListeners = (all: AllParts): Promise<Listeners> =>
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

const portOf = (address: string | undefined): number | null => (address ? Number(new URL(address).port) : null);

/** Opens the ingest API alone. @throws {OperatorError} its address is taken or is not this machine's */
export const openIngestListener = (parts: Parts): Promise<Listeners> =>
  together(async (register) => {
    const hosts = hostsOf(parts.config, ['ingest']);
    return { api: [], proxy: [], internal: [], ingest: register(await openIngest(parts, hosts)).addresses };
  });

async function openApi(parts: AllParts, allowedHosts: string[], service: () => Service): Promise<OpenListener> {
  const { config, database, engine, journalBytes, cassettes, log, version } = parts;
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
    looked: openLooks(database.execute, Date.now),
    journal: () => ({ bytes: journalBytes(), oldest_seconds: engine.oldestSeconds() }),
    publisher: () => engine.publisher() ?? undefined,
    service,
    retention: retentionRules(config.retention),
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

/** Serves the evidence to operators alone; opens nothing where `SVC_INTERNAL_LISTEN` is not set. */
async function openInternal(parts: AllParts, register: Keep): Promise<string[]> {
  const { config, cassettes, env, log, addresses, processes } = parts;
  const internal = internalOf(env);
  if (!internal) return [];
  const instance = instanceOf(env, Date.now());
  const evidence = () =>
    evidenceOf({
      instance,
      processes: processes(),
      list: cassettes.host.list(),
      installed: cassettes.host.installed(),
      now: Date.now(),
    });
  const allowedHosts = [...config.allowed_hosts, ...internal.at.hosts];
  const { fetch } = internalApi({ evidence, token: internal.token, allowedHosts, log });
  const at = addresses.internal?.at ?? internal.at;
  return register(await serveApp({ fetch, ...at, what: 'internal listener' })).addresses;
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
