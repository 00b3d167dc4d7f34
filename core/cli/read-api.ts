/** Requests to the read API of a running service, at the address that this configuration gives, once the service was recognised. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseListen } from '../config/listen.ts';
import type { LoadedConfig } from '../config/load.ts';
import { tokenFor, whyNoToken } from './chosen-by-project.ts';
import { getJson, type JsonResponse, type NoReply } from './get-json.ts';
import { publishedService, type ServiceAddresses } from './running-service.ts';
import { shownAddress } from './shown-address.ts';
import type { ListenerState, ListenerStatus } from './status-page.ts';
import { tlsReason } from './tls-failure.ts';
import { plain } from './units.ts';

export const REPLY_TIMEOUT_MS = 5_000; // a machine that is busy answers late, and then its status is what somebody wants

export type ReadApiResponse<T> = ListenerStatus & {
  /** null: the service is down, or refuses. */
  answer: T | null;
  /** Remarks on that for an operator. */
  remarks: string[];
};

type ReadApiRequest<T> = { path: string; is: (body: unknown) => body is T; what: string };

/** A read API that has answered as one; `get` is null where nothing did. */
export type ReachedReadApi = ListenerStatus & {
  remarks: string[];
  get: (<T>(request: ReadApiRequest<T>) => Promise<Pick<ReadApiResponse<T>, 'answer' | 'remarks'>>) | null;
};

/** One request to it. For several, `reachReadApi` recognises it once. */
export async function fetchReadApi<T>(loaded: LoadedConfig, request: ReadApiRequest<T>): Promise<ReadApiResponse<T>> {
  const { get, ...reached } = await reachReadApi(loaded);
  return { ...reached, ...(get ? await get(request) : { answer: null }) };
}

/** The token is sent only after /ping was answered as the read API does: another program on its port must not learn it. */
export async function reachReadApi(loaded: LoadedConfig): Promise<ReachedReadApi> {
  const address = addresses(loaded).api;
  const token = address === null ? '' : tokenFor(loaded, address);
  const none = (state: ListenerState, ...remarks: string[]): ReachedReadApi => ({ address, state, remarks, get: null });
  if (address === null)
    return none('unknown', 'api.listen leaves the port to the system: say where it is with --client-api-target');
  const ping = await getJson({ address, path: '/ping', timeoutMs: REPLY_TIMEOUT_MS });
  const state = stateOf(ping, isPong);
  if (state === 'silent') return none(state, 'The read API is stuck, or something else has its port: see its log');
  const tls = tlsReason(ping);
  if (tls !== null) return none(state, `The read API at ${address} cannot be used: ${tls}`);
  if (state !== 'up') return none(state);
  if (typeof ping === 'object' && isRefusedName(ping.body))
    return none(state, `The read API does not answer to the host name in ${address}: add it to allowed_hosts`);
  return {
    ...none(state),
    get: async ({ path, is, what }) => {
      const reply = await getJson({ address, path, token, timeoutMs: REPLY_TIMEOUT_MS });
      if (typeof reply === 'object' && reply.status === 200 && is(reply.body))
        return { answer: reply.body, remarks: [] };
      return {
        answer: null,
        remarks: [`Cannot read the ${what}: ${whyNot(reply, token === '' ? whyNoToken(loaded, address) : null, what)}`],
      };
    },
  };
}

/** @param noToken why none was sent; null: one was */
function whyNot(reply: JsonResponse | NoReply, noToken: string | null, what: string): string {
  if (typeof reply === 'string')
    return `no answer came within ${REPLY_TIMEOUT_MS / 1000} s; the database may be busy or away`;
  if (reply.status === 401) return noToken ?? 'api.token is wrong; the service was started with another one';
  if (reply.status === 503) return 'the service cannot reach its database; what passes the proxy waits in the journal';
  if (reply.status === 404) return 'the service is of another version, which has none';
  return reply.status === 200
    ? `the service is of another version, whose ${what} reads differently`
    : `the service answers with ${reply.status}; its log says why`;
}

/**
 * Whether a read API answers there; to anything else no token may be sent.
 * @param timeoutMs for its reply
 * @returns foreign: something else answers; away: nothing does yet
 */
export async function readApiAt(address: string, timeoutMs: number): Promise<'there' | 'foreign' | 'away'> {
  const ping = await getJson({ address, path: '/ping', timeoutMs });
  const state = stateOf(ping, isPong);
  if (state === 'up') return typeof ping === 'object' && isRefusedName(ping.body) ? 'foreign' : 'there';
  return state === 'foreign' || state === 'untrusted' ? 'foreign' : 'away';
}

/**
 * The addresses for client commands, in this order: `client.…_target` if set; the `listen` of a flag or the environment; the address of
 * the service that runs in this folder, or where there is no such folder in the user's own; the address at which a service with this
 * configuration would listen.
 */
export function addresses(loaded: LoadedConfig): ServiceAddresses {
  const { config, source } = loaded;
  const isConfigured = (key: string) => (source[key] ?? 'default') !== 'default';
  const { proxy, api, ingest } = localAddresses(loaded);
  return {
    proxy: isConfigured('client.proxy_target') ? config.client.proxy_target : proxy,
    api: isConfigured('client.api_target') ? config.client.api_target : api,
    ingest,
  };
}

/** The same without `client.…_target`: those of the service of this machine. */
export function localAddresses(loaded: LoadedConfig): ServiceAddresses {
  const { config, source } = loaded;
  const running = publishedService(folderOfService(loaded))?.addresses ?? null;
  const at = (name: 'proxy' | 'api' | 'ingest') =>
    running === null || ['flag', 'environment'].includes(source[`${name}.listen`] ?? '')
      ? addressOf(config[name].listen)
      : running[name] && shownAddress(running[name]);
  return { proxy: at('proxy'), api: at('api'), ingest: at('ingest') };
}

/** The folder whose service the client commands use: the one in effect, unless none has run there yet while the user's own runs. */
export const folderOfService = ({ folder, homeFolder }: LoadedConfig): string =>
  existsSync(join(folder, 'journal')) || publishedService(homeFolder) === null ? folder : homeFolder;

/** One of a listener's addresses. Null: the system chooses the port. */
function addressOf(listen: string): string | null {
  const { hosts, port } = parseListen(listen);
  if (port === 0) return null;
  const [first = '', ...others] = hosts;
  const host = others.length > 0 ? 'localhost' : (NEAREST[first] ?? first);
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

const NEAREST: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

export const stateOf = (reply: JsonResponse | NoReply, isOurs: (reply: JsonResponse) => boolean): ListenerState => {
  if (typeof reply === 'object') return isOurs(reply) ? 'up' : outageIn(reply) === null ? 'foreign' : 'unserved';
  if (tlsReason(reply) !== null) return 'untrusted';
  return reply === 'nobody' ? 'down' : reply === 'silent' ? 'silent' : 'foreign';
};

/** What stands in for a service that is down says of it; null: it is something else that answers. */
export function outageIn(reply: JsonResponse | NoReply): string | null {
  if (typeof reply !== 'object' || reply.status !== 503) return null;
  const { error } = (reply.body ?? {}) as { error?: unknown }; // the ingest API has no code beside it
  const isOutage = typeof error === 'string' && error.startsWith('Cannot answer: the service is down: ');
  return isOutage ? plain(error.slice('Cannot answer: '.length)) : null;
}

const isPong = ({ status, body }: JsonResponse) => (status === 200 && body === 'pong') || isRefusedName(body);
const isRefusedName = (body: unknown) => (body as { code?: unknown } | null | undefined)?.code === 'foreign-host';
