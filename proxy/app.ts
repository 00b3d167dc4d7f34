/**
 * The capture proxy: forwards a call as it came and keeps a copy. Works on Node's raw request, since Request and URL
 * normalise paths and merge repeated headers. Each request gets exactly one outcome, here or at the end of its copy.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { outcomeWithoutCopy } from '../core/call/outcome.ts';
import { type Client, clientDigest, clientKey, credentialOf } from '../core/capture/client-key.ts';
import type { Journal } from '../core/capture/journal.ts';
import type { CallOpened } from '../core/capture/journal-format.ts';
import { type RedactedHeaders, redactHeaders, redactTarget, withoutHeader } from '../core/capture/redact.ts';
import type { Config } from '../core/config/schema.ts';
import type { Logger } from '../core/log.ts';
import type { Outcome } from '../core/model/coverage.ts';
import type { FormatId } from '../core/provider/formats.ts';
import type { ProviderId } from '../core/provider/provider-ids.ts';
import { providerById } from '../core/provider/providers.ts';
import { keepCopy, noCopy } from './copy.ts';
import { unreachable } from './failure.ts';
import { type CallObserver, forward } from './forward.ts';
import { pairs } from './headers.ts';
import { betterAddress, misdirected, nameOf, speakerOf } from './misdirected.ts';
import { originForm, type Route, requestsTurn, routeOf } from './routes.ts';
import { refuseTunnel, type TunnelObserver, tunnel } from './tunnel.ts';
import type { Upstreams } from './upstream.ts';
import { readFrames } from './websocket-frames.ts';
import { socketTurns } from './websocket-turns.ts';

export type ProxyDeps = {
  config: Pick<Config, 'proxy' | 'capture' | 'api'>;
  upstreams: Upstreams;
  journal: Pick<Journal, 'recordOutcome' | 'open'>;
  /** @param path without query and provider prefix; null: no turn in any of our formats */
  formatOf(method: string, path: string): { id: FormatId; overWebSocket?: boolean } | null;
  /** The key with which version 0.1 hashed clients, where it has run: its sessions are continued by it. null: it has not. */
  formerKey: Uint8Array | null;
  /** Admission of a request; null admits it. What is refused here is no call and has no outcome. */
  refuse(headers: IncomingHttpHeaders): { status: number; message: string } | null;
  /** Called once per request that was admitted. `hasCopy`: intake reads the copy, and may find another outcome. */
  count(provider: ProviderId, outcome: Outcome, hasCopy: boolean): void;
  /** What the proxy itself added to the time to first byte of one call. */
  addedTtfb(seconds: number): void;
  now(): string; // instant, microseconds
  newId(): string; // UUIDv7
  log: Logger;
};

/** A request listener of Node's own server. Returns at once; the response is written by what it starts. */
export const proxyHandler =
  (deps: ProxyDeps) =>
  (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    try {
      passCall(deps, incoming, outgoing);
    } catch (error) {
      logInternalError(deps, error);
      outgoing.destroy();
    }
  };

/** Whether no turn is under way in a tunnel, as far as what passes in it is read. */
export type IsIdle = () => boolean;

/**
 * The upgrade listener: such connections pass as raw sockets. Of the protocols on them only the Responses socket is read.
 * @param onRead called when the turns of this socket are read from now on
 */
export const proxyUpgrade =
  (deps: ProxyDeps) =>
  (incoming: IncomingMessage, socket: Duplex, head: Buffer, onRead: (isIdle: IsIdle) => void): void => {
    try {
      passUpgrade(deps, { incoming, socket, head, onRead });
    } catch (error) {
      logInternalError(deps, error);
      socket.destroy();
    }
  };

type Upgrade = { incoming: IncomingMessage; socket: Duplex; head: Buffer; onRead(isIdle: IsIdle): void };

function passUpgrade(deps: ProxyDeps, { incoming, socket, head, onRead }: Upgrade): void {
  const route = routeOf(incoming.url ?? '/', deps.config.proxy);
  const { provider, upstream, target } = route;
  const refusal = refusalOf(deps, route, incoming);
  if (refusal) {
    refuseTunnel(incoming, socket, refusal.status, refusal.body);
    return;
  }
  const socketFormat = socketFormatOf(deps, route, incoming);
  const keep = captureModeOf(incoming.headers, deps.config.capture.mode);
  // each response on the socket is a turn of its own; the socket itself is recorded here, since it may end badly, or never
  countOnly(deps, provider, !socketFormat ? 'unsupported_format' : keep === 'off' ? 'disabled' : 'not_a_turn');
  tunnel({
    incoming,
    socket,
    head,
    upstream: deps.upstreams.at(upstream),
    target,
    observe(raw) {
      if (!socketFormat || keep === 'off') return null;
      try {
        return socketObserver(deps, { provider, format: socketFormat, keep, raw }, { incoming, onRead });
      } catch (error) {
        logInternalError(deps, error);
        return null;
      }
    },
    failure: failureOf(deps, route, incoming),
  });
}

function passCall(deps: ProxyDeps, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const route = routeOf(incoming.url ?? '/', deps.config.proxy);
  const refusal = refusalOf(deps, route, incoming);
  if (refusal) {
    const length = String(Buffer.byteLength(refusal.body));
    outgoing
      .writeHead(refusal.status, ['Content-Type', 'application/json', 'Content-Length', length])
      .end(refusal.body);
    return;
  }
  forward({
    incoming,
    outgoing,
    upstream: deps.upstreams.at(route.upstream),
    target: route.target,
    observer: observerOf(deps, route, incoming),
    failure: failureOf(deps, route, incoming),
    addedMs: (ms) => deps.addedTtfb(ms / 1000),
  });
}

/** Opens the copy of a call before its first byte goes upstream, or records why there is none. */
function observerOf(deps: ProxyDeps, { provider, path }: Route, incoming: IncomingMessage): CallObserver {
  const { headers, method = 'GET' } = incoming;
  const format = deps.formatOf(method, path);
  const keep = captureModeOf(headers, deps.config.capture.mode);
  if (!format || keep === 'off') {
    countOnly(deps, provider, outcomeWithoutCopy(format, requestsTurn(method, path)));
    return noCopy;
  }
  const declaredBytes = Number(headers['content-length'] ?? 0);
  return openCopy(deps, { provider, format: format.id, keep, requestedAt: deps.now(), declaredBytes }, incoming);
}

type Turn = {
  provider: ProviderId;
  format: FormatId;
  keep: 'full' | 'metadata';
  requestedAt: string;
  declaredBytes: number; // 0: the request does not say how long it is
};

function openCopy(deps: ProxyDeps, turn: Turn, incoming: IncomingMessage): CallObserver {
  const { config, journal, formerKey, count, now } = deps;
  const { rawHeaders, method = 'GET', url = '/' } = incoming;
  const { provider, format, keep, requestedAt, declaredBytes } = turn;
  const copy = journal.open({
    svc_proxy_request_id: deps.newId(),
    requested_at: requestedAt,
    provider,
    format,
    method,
    url: redactTarget(originForm(url)),
    headers: trustedHeaders(redactHeaders(rawHeaders), config.api.trust_caller_header),
    ...clientOf(incoming, formerKey, config.proxy.project),
    project: config.proxy.project,
    keep,
  });
  if (!copy) {
    countOnly(deps, provider, 'journal_full');
    return noCopy;
  }
  return keepCopy(copy, {
    keep,
    maxBodyBytes: config.capture.max_body_bytes,
    declaredBytes,
    now,
    onOutcome: (outcome) => count(provider, outcome, true),
  });
}

/** The format of the turns on a WebSocket, which is that of a POST to the same path; null: no WebSocket, or a format that cannot be read. */
function socketFormatOf(deps: ProxyDeps, { path }: Route, { method, headers }: IncomingMessage): FormatId | null {
  if (method !== 'GET' || !/^\s*websocket\s*$/i.test(headers.upgrade ?? '')) return null;
  const format = deps.formatOf('POST', path);
  return format?.overWebSocket ? format.id : null;
}

type AgreedSocket = Pick<Turn, 'provider' | 'format' | 'keep'> & { raw: readonly string[] };

/** Reads a socket's turns from a copy of its bytes. Where reading cannot go on, the rest of the socket is recorded once, with the reason. */
function socketObserver(
  deps: ProxyDeps,
  { raw, ...kind }: AgreedSocket,
  { incoming, onRead }: Pick<Upgrade, 'incoming' | 'onRead'>,
): TunnelObserver | null {
  let isRead = true;
  const turns = socketTurns(raw, (requestedAt, declaredBytes) =>
    openCopy(deps, { ...kind, requestedAt, declaredBytes }, incoming),
  );
  const giveUp = (outcome: Outcome) => {
    deps.log.warn({ provider: kind.provider, outcome }, 'Cannot read a WebSocket to its end: it passes without a copy');
    countOnly(deps, kind.provider, outcome);
  };
  const reader = readFrames(joinedHeader(raw, 'sec-websocket-extensions'), {
    maxMessageBytes: deps.config.capture.max_body_bytes,
    now: deps.now,
    listener: {
      message: turns.message,
      left: (side) => turns.end(side === 'client' ? 'client_closed' : 'upstream_cut'),
      lost(why) {
        isRead = false;
        turns.end('overflow');
        giveUp(why);
      },
    },
  });
  if (reader) onRead(() => isRead && turns.isIdle());
  else giveUp('unsupported_format');
  return reader;
}

/** All values of a header that may occur more than once, joined into one; null when it is absent. */
function joinedHeader(raw: readonly string[], name: string): string | null {
  const values = pairs(raw).flatMap(([sent, value]) => (sent.toLowerCase() === name ? [value] : []));
  return values.length > 0 ? values.join(', ') : null;
}

type KnownClient = Client & { hashes: ClientHashes };
type ClientHashes = Pick<CallOpened, 'client_digest' | 'client_key'>;

/** A cache of the client that last called on each connection, since nearly always the same one calls again. It ends with the connection. */
const clients = new WeakMap<Duplex, KnownClient>();

function clientOf(
  { socket, headers, url }: IncomingMessage,
  formerKey: Uint8Array | null,
  project: string,
): ClientHashes {
  const client = {
    credential: credentialOf(headers, url),
    userAgent: headers['user-agent'] ?? '',
    project: String(headers['x-svc-project'] ?? project),
  };
  const known = clients.get(socket);
  if (
    known?.credential === client.credential &&
    known.userAgent === client.userAgent &&
    known.project === client.project
  )
    return known.hashes;
  const hashes = { client_digest: clientDigest(client), client_key: formerKey ? clientKey(formerKey, client) : '' };
  clients.set(socket, { ...client, hashes });
  return hashes;
}

/** The name of a caller is stored only where a gateway sets it, since anybody else could claim another's. */
const trustedHeaders = (headers: RedactedHeaders, trusted: boolean): RedactedHeaders =>
  trusted ? headers : withoutHeader(headers, 'x-svc-auth-subject');

/** How much is captured: the lesser of what the operator and the caller allow. */
function captureModeOf(headers: IncomingHttpHeaders, mode: Config['capture']['mode']): Config['capture']['mode'] {
  const requested = String(headers['x-svc-capture'] ?? '')
    .trim()
    .toLowerCase();
  if (mode === 'off' || requested === 'off') return 'off';
  return mode === 'metadata' || requested === 'metadata' ? 'metadata' : 'full';
}

function countOnly({ journal, count, now }: ProxyDeps, provider: ProviderId, outcome: Outcome): void {
  journal.recordOutcome({ at: now(), provider, outcome });
  count(provider, outcome, false);
}

/** A bug of ours costs one call, not the process. The text of the error may quote headers, so only its kind is logged. */
const logInternalError = ({ log }: ProxyDeps, error: unknown) =>
  log.error(
    { kind: (error as NodeJS.ErrnoException).code ?? (error as Error).name },
    'Cannot pass a call: internal error',
  );

/** The response to a call that is not forwarded; null: it is forwarded. A misdirected call is recorded as no turn. */
function refusalOf(deps: ProxyDeps, route: Route, incoming: IncomingMessage): { status: number; body: string } | null {
  const barred = deps.refuse(incoming.headers);
  if (barred)
    return { status: barred.status, body: providerById(speakerOf(route)).errorBody(barred.status, barred.message) };
  const lost = misdirected(route, incoming, deps.config.proxy);
  if (!lost) return null;
  const { status, provider, message } = lost;
  deps.log.warn({ provider }, message);
  countOnly(deps, provider, 'not_a_turn');
  return { status, body: providerById(provider).errorBody(status, message) };
}

const failureOf = (deps: ProxyDeps, route: Route, incoming: IncomingMessage) => (error: Error) => {
  const message = unreachable(error, nameOf(route.upstream));
  deps.log.warn({ provider: route.provider }, message);
  return providerById(speakerOf(route)).errorBody(502, `${message}${betterAddress(route, incoming)}`);
};
