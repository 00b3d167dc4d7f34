/** `svc status`: is it up, is anything wrong, and which settings are in effect? Loads no server and no database, so it answers at once. */
import { join } from 'node:path';
import { runsIn, segmentsIn } from '../capture/journal-files.ts';
import { keys, redacted, valueAt } from '../config/keys.ts';
import type { Loaded } from '../config/load.ts';
import type { CassetteList } from '../model/cassette.ts';
import type { Status } from '../model/status.ts';
import { getJson, type Reply, takesConnections } from './ask-api.ts';
import { isCassetteList } from './cassette/is-list.ts';
import type { Io } from './io.ts';
import { addresses, askReadApi, PATIENCE_MS, stateOf } from './read-api.ts';
import { type Listener, type Report, type Setting, type State, statusPage } from './status-page.ts';
import { whereData } from './where-data.ts';

/** 0 when the read API gave its status, else 1. `json` prints one document instead of a page. */
export async function printStatus(
  loaded: Loaded,
  { json }: { json: boolean },
  io: Pick<Io, 'out'>,
  version: string,
): Promise<0 | 1> {
  const report = await statusReport(loaded, version);
  io.out(json ? `${JSON.stringify(document(report, loaded), null, 2)}\n` : statusPage(report, Date.now()));
  return report.status === null ? 1 : 0;
}

async function statusReport(loaded: Loaded, version: string): Promise<Report> {
  const { config, folder } = loaded;
  const at = addresses(loaded);
  const [proxy, api, ingest] = await Promise.all([
    reach(at.proxy, async (address) => ((await takesConnections(address, PATIENCE_MS)) ? 'up' : 'down')),
    askReadApi(loaded, { path: '/v1/admin/status', is: isStatus, what: 'status' }),
    reach(at.ingest, async (address) =>
      stateOf(await getJson({ address, path: '/ping', timeoutMs: PATIENCE_MS }), isHealth),
    ),
  ]);
  const { answer: status, remarks, ...listener } = api;
  return {
    version,
    listeners: { proxy, api: listener, ingest },
    data: whereData(config.storage.postgres_dsn, folder),
    journal_bytes: journalOnDisk(folder),
    journal_max_bytes: config.journal.max_bytes,
    status,
    cassettes: status && (await cassettesAt(api.address, config.api.token)),
    remarks: [...remarks, ...(status ? mismatches(status, config.storage.postgres_dsn, version) : [])],
    settings: settingsOf(loaded),
  };
}

/** Of a service that has told its status. */
async function cassettesAt(address: string | null, token: string): Promise<CassetteList | null> {
  if (address === null) return null;
  const reply = await getJson({ address, path: '/v1/cassettes', token, timeoutMs: PATIENCE_MS });
  return typeof reply === 'object' && reply.status === 200 && isCassetteList(reply.body) ? reply.body : null;
}

const document = ({ listeners, settings, ...rest }: Report, { config, folder, file }: Loaded) => ({
  up: {
    proxy: listeners.proxy.state === 'up',
    api: listeners.api.state === 'up',
    ingest: listeners.ingest.state === 'up',
  },
  listeners,
  ...rest,
  config: redacted(config),
  config_from: Object.fromEntries(settings.map(({ key, from }) => [key, from])),
  folder,
  file,
});

const reach = async (address: string | null, ask: (address: string) => Promise<State>): Promise<Listener> => ({
  address,
  state: address === null ? 'unknown' : await ask(address),
});

const isHealth = ({ status, body }: Reply) => status === 200 && (body as { status?: unknown } | null)?.status === 'ok';
/** What the page walks through. The schema itself would bring half of the server along. */
const isStatus = (body: unknown): body is Status => {
  const members = body as Partial<Record<keyof Status, unknown>> | null | undefined;
  return (
    typeof members?.version === 'string' &&
    typeof members.uptime_seconds === 'number' &&
    [members.database, members.counts, members.derive, members.parked_turns, members.coverage].every(
      (member) => typeof member === 'object' && member !== null,
    ) &&
    Array.isArray(members.parked_sessions) &&
    Array.isArray(members.estimated)
  );
};

/** Where the service that answers is not the one that this configuration would start. */
function mismatches({ version, database }: Status, dsn: string, mine: string): string[] {
  const kind = dsn === '' ? 'embedded' : 'server';
  const WORDS = { embedded: 'the embedded database', server: 'a PostgreSQL server' };
  return [
    ...(version === mine ? [] : [`The service is svc ${version}, this command is ${mine}`]),
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

function settingsOf({ config, source, file }: Loaded): Setting[] {
  const shown = redacted(config);
  return keys
    .filter((key) => JSON.stringify(valueAt(config, key.path)) !== JSON.stringify(key.default))
    .map(({ path, flag, env }) => {
      const from = { flag, environment: env, file, default: null }[source[path] ?? 'default'];
      return { key: path, value: valueAt(shown, path), from: from ?? '' };
    });
}
