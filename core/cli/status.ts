/** `svc status`: is it up, is anything wrong, and which settings are in effect? Loads no server and no database, so it answers at once. */
import { join } from 'node:path';
import { runsIn, segmentsIn } from '../capture/journal-files.ts';
import { keys, redacted, valueAt } from '../config/keys.ts';
import { parseListen } from '../config/listen.ts';
import type { Loaded } from '../config/load.ts';
import type { Status } from '../model/status.ts';
import { getJson, type NoReply, type Reply, takesConnections } from './ask-api.ts';
import type { Io } from './program.ts';
import { type Listener, type Report, type Setting, type State, statusPage } from './status-page.ts';
import { whereData } from './where-data.ts';

const PATIENCE_MS = 2_000;

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
    askApi(at.api, config.api.token),
    reach(at.ingest, async (address) =>
      stateOf(await getJson({ address, path: '/ping', timeoutMs: PATIENCE_MS }), isHealth),
    ),
  ]);
  const { status, remarks, ...listener } = api;
  return {
    version,
    listeners: { proxy, api: listener, ingest },
    data: whereData(config.storage.postgres_dsn, folder),
    journal_bytes: journalOnDisk(folder),
    journal_max_bytes: config.journal.max_bytes,
    status,
    remarks: [...remarks, ...(status ? mismatches(status, config.storage.postgres_dsn, version) : [])],
    settings: settingsOf(loaded),
  };
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

type Addresses = { proxy: string | null; api: string | null; ingest: string | null };

/** Where client commands are sent to, if anybody said so; else where the service of this configuration listens. */
function addresses({ config, source }: Loaded): Addresses {
  const told = (key: string, target: string, listen: string) =>
    (source[key] ?? 'default') === 'default' ? addressOf(listen) : target;
  return {
    proxy: told('client.proxy_target', config.client.proxy_target, config.proxy.listen),
    api: told('client.api_target', config.client.api_target, config.api.listen),
    ingest: addressOf(config.ingest.listen),
  };
}

/** One address out of those a listener stands on. Null: the system chooses the port. */
function addressOf(listen: string): string | null {
  const { hosts, port } = parseListen(listen);
  if (port === 0) return null;
  const [first = '', ...others] = hosts;
  const host = others.length > 0 ? 'localhost' : (NEAREST[first] ?? first);
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

const NEAREST: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

const reach = async (address: string | null, ask: (address: string) => Promise<State>): Promise<Listener> => ({
  address,
  state: address === null ? 'unknown' : await ask(address),
});

const stateOf = (reply: Reply | NoReply, isOurs: (reply: Reply) => boolean): State => {
  if (typeof reply === 'object') return isOurs(reply) ? 'up' : 'foreign';
  return reply === 'nobody' ? 'down' : reply === 'silent' ? 'silent' : 'foreign';
};

const isPong = ({ status, body }: Reply) => (status === 200 && body === 'pong') || isRefusedName(body);
const isHealth = ({ status, body }: Reply) => status === 200 && (body as { status?: unknown } | null)?.status === 'ok';
const isRefusedName = (body: unknown) => (body as { code?: unknown } | null | undefined)?.code === 'foreign-host';

type Asked = Listener & { status: Status | null; remarks: string[] };

/** The token is sent only to who has answered /ping as the read API does: another program on its port must not learn it. */
async function askApi(address: string | null, token: string): Promise<Asked> {
  const none = (state: State, ...remarks: string[]): Asked => ({ address, state, status: null, remarks });
  if (address === null)
    return none('unknown', 'api.listen leaves the port to the system: say where it is with --client-api-target');
  const ping = await getJson({ address, path: '/ping', timeoutMs: PATIENCE_MS });
  const state = stateOf(ping, isPong);
  if (state === 'silent') return none(state, 'The read API is stuck, or something else has its port: see its log');
  if (state !== 'up') return none(state);
  if (typeof ping === 'object' && isRefusedName(ping.body))
    return none(state, `The read API does not answer to the host name in ${address}: add it to allowed_hosts`);

  const reply = await getJson({ address, path: '/v1/admin/status', token, timeoutMs: PATIENCE_MS });
  if (typeof reply === 'object' && reply.status === 200 && isStatus(reply.body))
    return { ...none(state), status: reply.body };
  return none(state, `Cannot read the status: ${whyNot(reply, token)}`);
}

function whyNot(reply: Reply | NoReply, token: string): string {
  if (typeof reply === 'string')
    return `no answer came within ${PATIENCE_MS / 1000} s; the database may be busy or away`;
  if (reply.status === 401)
    return token === ''
      ? 'api.token is missing; set SVC_API_TOKEN to the token that the service was started with'
      : 'api.token is wrong; the service was started with another one';
  if (reply.status === 503) return 'the service cannot reach its database; what passes the proxy waits in the journal';
  if (reply.status === 404) return 'the service is of another version, which has none';
  return reply.status === 200
    ? 'the service is of another version, whose status reads differently'
    : `the service answers with ${reply.status}; its log says why`;
}

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
