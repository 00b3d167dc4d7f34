/** `svc status`: what is up, what is wrong, and which settings are in effect. Loads no server and no database, so that it is quick. */
import { join } from 'node:path';
import { runsIn, segmentsIn } from '../capture/journal-files.ts';
import { journalLimit } from '../capture/journal-limit.ts';
import { keyOf, redacted } from '../config/keys.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { Service, Status } from '../model/status.ts';
import { isCassetteList } from './cassette/is-list.ts';
import { changedSettings } from './changed-settings.ts';
import { getJson, type JsonResponse, takesConnections } from './get-json.ts';
import type { Io } from './io.ts';
import { isStatus } from './is-status.ts';
import { jsonText } from './print-response.ts';
import { addresses, folderOfService, REPLY_TIMEOUT_MS, reachReadApi, stateOf } from './read-api.ts';
import { publishedService, runsHere, type ServiceAddresses } from './running-service.ts';
import { shownAddress } from './shown-address.ts';
import { type ListenerState, type ListenerStatus, type StatusReport, statusPage } from './status-page.ts';
import { whereData } from './where-data.ts';

/** 0 when the read API gave its status, else 1. `json` prints one document instead of a page. */
export async function printStatus(
  loaded: LoadedConfig,
  { json }: { json: boolean },
  io: Pick<Io, 'out' | 'isTerminal'>,
  version: string,
): Promise<0 | 1> {
  const report = await statusReport(loaded, version);
  io.out(json ? jsonText(document(report, loaded), io, 2) : statusPage(report, Date.now()));
  return report.status === null ? 1 : 0;
}

async function statusReport(loaded: LoadedConfig, version: string): Promise<StatusReport> {
  const { config } = loaded;
  const folder = folderOfService(loaded);
  const own = addresses(loaded);
  const [{ get, remarks: whyNot, ...listener }, ownListeners] = await Promise.all([
    reachReadApi(loaded),
    listenersAt(own),
  ]);
  const [{ answer: status, remarks }, mounted] = get
    ? await Promise.all([
        get({ path: '/v1/admin/status', is: isStatus, what: 'status' }),
        get({ path: '/v1/cassettes', is: isCassetteList, what: 'cassettes' }),
      ])
    : [{ answer: null, remarks: whyNot }, null];
  const service = status?.service;
  const published = publishedService(folder);
  const bound = service && runsHere(service) ? boundBy(service) : own;
  const isOwn = bound.proxy === own.proxy && bound.ingest === own.ingest;
  const { proxy, ingest } = isOwn ? ownListeners : await listenersAt(bound);
  return {
    version,
    listeners: { proxy, api: listener, ingest },
    folder: service && service.folder !== folder ? { service: service.folder, own: folder } : null,
    data:
      service?.data ??
      (listener.state === 'up' ? published?.data : null) ?? // a service that answers, and cannot reach its database
      whereData(config.storage.postgres_dsn, folder),
    journal_bytes: journalOnDisk(folder),
    journal_max_bytes: await journalLimit(
      join(folder, 'journal'),
      service ? limitOf(service) : config.journal.max_bytes,
    ),
    status,
    cassettes: status && (mounted?.answer ?? null),
    processes: service?.processes ?? published?.processes ?? [],
    remarks: [...remarks, ...(status ? mismatches(status, config.storage.postgres_dsn, version) : [])],
    settings: service?.settings ?? changedSettings(loaded),
  };
}

type Listeners = Pick<ServiceAddresses, 'proxy' | 'ingest'>;

/** The addresses at which a service on this machine listens. */
const boundBy = ({ listeners: { proxy, ingest } }: Service): Listeners => ({
  proxy: shownAddress(proxy[0] ?? '') || null,
  ingest: shownAddress(ingest[0] ?? '') || null,
});

/** The limit of its journal as configured, in bytes. */
function limitOf({ settings }: Service): number {
  const value = settings.find(({ key }) => key === LIMIT)?.value ?? keyOf(LIMIT)?.default;
  return typeof value === 'number' ? value : Number.NaN;
}
const LIMIT = 'journal.max_bytes';

async function listenersAt({ proxy, ingest }: Listeners): Promise<Record<keyof Listeners, ListenerStatus>> {
  const [proxyStatus, ingestStatus] = await Promise.all([
    reach(proxy, async (address) => ((await takesConnections(address, REPLY_TIMEOUT_MS)) ? 'up' : 'down')),
    reach(ingest, async (address) =>
      stateOf(await getJson({ address, path: '/ping', timeoutMs: REPLY_TIMEOUT_MS }), isHealth),
    ),
  ]);
  return { proxy: proxyStatus, ingest: ingestStatus };
}

const document = ({ listeners, settings: _, folder: __, ...rest }: StatusReport, loaded: LoadedConfig) => ({
  up: {
    proxy: listeners.proxy.state === 'up',
    api: listeners.api.state === 'up',
    ingest: listeners.ingest.state === 'up',
  },
  listeners,
  ...rest,
  config: redacted(loaded.config),
  config_from: Object.fromEntries(changedSettings(loaded).map(({ key, from }) => [key, from])),
  folder: loaded.folder,
  file: loaded.file,
});

const reach = async (
  address: string | null,
  check: (address: string) => Promise<ListenerState>,
): Promise<ListenerStatus> => ({
  address,
  state: address === null ? 'unknown' : await check(address),
});

const isHealth = ({ status, body }: JsonResponse) =>
  status === 200 && (body as { status?: unknown } | null)?.status === 'ok';
/** Differences between the running service and the one that this configuration would start. */
function mismatches({ version, database }: Status, dsn: string, ownVersion: string): string[] {
  const kind = dsn === '' ? 'embedded' : 'server';
  const WORDS = { embedded: 'the embedded database', server: 'a PostgreSQL server' };
  return [
    ...(version === ownVersion ? [] : [`The service is svc ${version}, this command is ${ownVersion}`]),
    ...(database.kind === kind
      ? []
      : [`The service was started with other settings: it uses ${WORDS[database.kind]}, these say ${WORDS[kind]}`]),
  ];
}

function journalOnDisk(folder: string): number | null {
  const journal = join(folder, 'journal');
  try {
    return runsIn(journal)
      .flatMap((run) => segmentsIn(journal, run))
      .reduce((sum, { bytes }) => sum + bytes, 0);
  } catch {
    return null;
  }
}
