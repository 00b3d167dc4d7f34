/**
 * Requests of a command to the read API of the service that runs, with errors that say what to do. By `node:http`: `fetch` takes longer to
 * load than most responses take to come.
 */
import { existsSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LoadedConfig } from '../config/load.ts';
import { OperatorError } from '../errors.ts';
import { tokenFor, whyNoToken } from './chosen-by-project.ts';
import { getJson, httpOf, type JsonResponse, type NoReply } from './get-json.ts';
import { addresses, folderOfService, outageIn, REPLY_TIMEOUT_MS } from './read-api.ts';
import { bodyText, jsonIn } from './response-body.ts';
import { publishedService } from './running-service.ts';
import { shownAddress } from './shown-address.ts';
import { tlsReason } from './tls-failure.ts';
import { plain } from './units.ts';

/** The service ends a request of its own after 20 s; what comes later than this never comes. */
const RESPONSE_TIMEOUT_MS = 30_000;
const START_MS = 60_000;
const POLL_MS = 100;

type ApiRequest = {
  /** GET without it. */
  method?: string;
  /** As `/v1/sessions?limit=5`. */
  path: string;
  /** Sent as JSON. */
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
  /** What it is for, as the end of 'Cannot …': `read the sessions`. */
  what: string;
  /** Until the head of the response; 30 s without it, null: as long as it takes. */
  timeoutMs?: number | null;
};

export type ApiClient = {
  /** As `http://localhost:8081`. */
  address: string;
  /** The response's JSON; undefined: it has no body. @throws {OperatorError} the service refuses, or does not respond */
  json<T>(request: ApiRequest): Promise<T>;
  /** A response with a status below 300, whose body is the caller's to read. @throws {OperatorError} as above */
  response(request: ApiRequest): Promise<IncomingMessage>;
};

/** `hostname`: what is connected to. */
type Recognised = { address: string; hostname: string };

/**
 * The token is sent only after /ping was answered as the read API does: another program on its port must not learn it.
 * @throws {OperatorError} no service answers at the address that this configuration gives
 */
export async function openApiClient(loaded: LoadedConfig): Promise<ApiClient> {
  const { address, hostname } = await recognised(loaded);
  const token = tokenFor(loaded, address);
  const base = new URL(address);
  const { Agent, request: open } = await httpOf(base.protocol);
  const agent = new Agent({ keepAlive: true });

  async function response(request: ApiRequest): Promise<IncomingMessage> {
    const { method = 'GET', path, body, headers, what, timeoutMs = RESPONSE_TIMEOUT_MS } = request;
    const sent = body === undefined ? null : Buffer.from(JSON.stringify(body));
    const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = open(
        address.replace(/\/+$/, '') + path,
        {
          hostname,
          method,
          agent,
          headers: {
            accept: 'application/json',
            ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
            ...(sent && { 'content-type': 'application/json', 'content-length': sent.length }),
            ...headers,
          },
        },
        resolve,
      );
      outgoing.setTimeout(timeoutMs ?? 0, () => outgoing.destroy(new Error('no response came in time')));
      outgoing.on('error', (error) =>
        reject(new OperatorError(`Cannot ${what}: ${reasonOf(error)}`, 1, { cause: error })),
      );
      outgoing.end(sent ?? undefined);
    });
    incoming.socket.setTimeout(0); // a stream may be silent for as long as nothing happens
    if ((incoming.statusCode ?? 0) < 300) return incoming;
    throw new OperatorError(
      `Cannot ${what}: ${await refusal(incoming, token === '' ? whyNoToken(loaded, address) : null)}`,
    );
  }

  return {
    address,
    response,
    json: async <T>(request: ApiRequest) => {
      const body = await bodyText(await response(request), request.what);
      if (body === '') return undefined as T;
      const parsed = jsonIn(body);
      if (parsed !== undefined) return parsed as T;
      throw new OperatorError(`Cannot ${request.what}: what ${address} responds is no JSON; is svc there?`);
    },
  };
}

async function recognised(loaded: LoadedConfig): Promise<Recognised> {
  const running = loaded.config.api.token === '' ? runningHere(loaded) : null;
  if (running) return running;
  for (const until = performance.now() + START_MS; ; await sleep(POLL_MS)) {
    const address = addresses(loaded).api;
    if (address === null)
      throw new OperatorError(
        'Cannot find the service: api.listen leaves the port to the system; say where it is with --client-api-target',
      );
    const ping = await getJson({ address, path: '/ping', timeoutMs: REPLY_TIMEOUT_MS });
    if (typeof ping === 'object' && ping.status === 200 && ping.body === 'pong')
      return { address, hostname: ping.hostname };
    if (ping !== 'nobody' || !isStarting(loaded, address) || performance.now() > until)
      throw new OperatorError(whyNot(ping, address, loaded));
  }
}

/** The service of this folder's living process, which has published its address: without a token nothing is lost if that has just changed. */
function runningHere(loaded: LoadedConfig): Recognised | null {
  const address = addresses(loaded).api;
  const published = publishedService(folderOfService(loaded));
  const isItsOwn = address !== null && address === shownAddress(published?.addresses.api ?? '');
  const isUp = published?.processes.some(({ name, state }) => name === 'service' && state === 'up');
  return isItsOwn && isUp && published?.addresses.api ? { address, hostname: hostOf(published.addresses.api) } : null;
}

const hostOf = (address: string): string => new URL(address).hostname.replace(/^\[|\]$/g, '');

/** Whether a service of this user has the address, and opens its database before it listens there: its proxy takes calls already. */
const isStarting = ({ folder, homeFolder }: LoadedConfig, address: string): boolean =>
  [folder, homeFolder].some((one) => {
    const published = publishedService(one);
    const isThere = shownAddress(published?.addresses.api ?? '') === shownAddress(address);
    return isThere && published?.processes.some(({ name, state }) => name === 'service' && state === 'starting');
  });

function whyNot(ping: JsonResponse | NoReply, address: string, { source, folder, homeFolder }: LoadedConfig): string {
  if (ping === 'nobody') {
    const isTarget = (source['client.api_target'] ?? 'default') !== 'default';
    const hasOwn = [folder, homeFolder].map((one) => existsSync(join(one, 'journal')));
    const more =
      !isTarget && !hasOwn[0] && hasOwn[1] ? ", 'cd && svc serve' one with what 'svc start' has recorded" : '';
    return `Cannot find the service: nobody listens at ${address}; 'svc serve' starts one${more}`;
  }
  if (ping === 'silent')
    return `Cannot find the service: ${address} does not answer; it is stuck, or something else is there`;
  const tls = tlsReason(ping);
  if (tls !== null) return `Cannot use the service at ${address}: ${tls}`;
  const outage = outageIn(ping);
  if (outage !== null) return `Cannot use the service at ${address}: ${outage}`;
  const code = typeof ping === 'object' ? (ping.body as { code?: unknown } | null | undefined)?.code : null;
  return code === 'foreign-host'
    ? `Cannot use the service at ${address}: it does not answer to that host name; add it to allowed_hosts`
    : `Cannot find the service: another program answers at ${address}; say where it is with --client-api-target`;
}

/** Why the service refuses, in its own words where it has some. @param noToken why none was sent; null: one was */
async function refusal(response: IncomingMessage, noToken: string | null): Promise<string> {
  if (response.statusCode === 401) return noToken ?? 'api.token is wrong; the service was started with another one';
  const body = jsonIn(await text(response)) as { detail?: unknown; error?: unknown } | null | undefined;
  const detail = body?.detail ?? body?.error;
  return typeof detail === 'string' ? plain(detail) : `the service answers with ${response.statusCode}`;
}

const reasonOf = (error: NodeJS.ErrnoException): string =>
  error.code === 'ECONNREFUSED'
    ? 'the service has ended'
    : error.code === 'ECONNRESET'
      ? 'the connection was cut before the answer came; its service may have ended'
      : error.message;
