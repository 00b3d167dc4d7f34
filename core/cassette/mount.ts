/** The mount of a cassette: forwards a request to it, and its response back, as streams, without credentials, and with limits against harmful callers. */
import { redactedHeader } from '../capture/redact.ts';
import { Refusal } from '../errors.ts';
import { REDACTED } from '../redaction/shapes.ts';
import { redactUrl } from '../redaction/url.ts';
import { type DeclaredManifest, ownPrefix } from './admission/manifest.ts';
import { CassetteDown, type RunningCassette } from './running.ts';

export type Mounted = {
  /** The request as it came to the read API. */
  request: Request;
  /** Installed name. */
  name: string;
  /** The path of a reverse proxy before the service's own, as `/svc`; '' or absent: none. */
  basePath?: string;
  manifest: DeclaredManifest;
  running: RunningCassette;
  /** `forward_auth` was asked for and granted. */
  forwardAuth: boolean;
  /** The caller that the gateway has authenticated; null: none. */
  caller: string | null;
  requestId: string;
  /** The caller's address; null where there is no socket. */
  peer: string | null;
  /** Aborts when the cassette is withdrawn for good. */
  gone: AbortSignal;
  /** Closes the connection of a response that cannot be completed. Absent: the stream of the response fails. */
  cut?: (why: string) => void;
};

export type MountLimits = { requestBytes: number; idleMs: number };
export const LIMITS: MountLimits = { requestBytes: 32 * 1024 * 1024, idleMs: 120_000 };

/**
 * @param mount its request has any method but TRACE, which is never forwarded
 * @throws {Refusal} body-too-large, cassette-unavailable, cassette-broken, cassette-late
 */
export async function mounted(mount: Mounted, { requestBytes, idleMs }: MountLimits = LIMITS): Promise<Response> {
  const { request, name, running, gone } = mount;
  if (Number(request.headers.get('content-length') ?? 0) > requestBytes) throw tooLarge(requestBytes);
  const ending = new AbortController();
  const signal = AbortSignal.any([request.signal, gone, ending.signal]);
  const idle = idleTimer(idleMs, () => ending.abort());
  const body = request.body && bounded(request.body, requestBytes, idle.moved);
  const forwarded = new Request(localAddress(mount), {
    method: request.method,
    headers: requestHeaders(mount),
    signal,
    redirect: 'manual',
    ...(body ? { body: body.stream, duplex: 'half' } : {}),
  } as RequestInit);

  try {
    const response = await Promise.race([running.fetch(forwarded), idle.late]);
    return new Response(response.body && watched(response.body, idleMs, signal, ending, mount), {
      status: response.status,
      headers: responseHeaders(response.headers, name),
    });
  } catch (error) {
    if (body?.over()) throw tooLarge(requestBytes);
    if (gone.aborted) throw new Refusal('cassette-unavailable', `Cannot answer: the cassette "${name}" was withdrawn`);
    if (error instanceof Refusal) throw error;
    throw refusalOf(error, name);
  } finally {
    idle.stop();
  }
}

function refusalOf(error: unknown, name: string): Refusal {
  const kind = error instanceof CassetteDown ? error.kind : 'broken';
  const why = error instanceof CassetteDown ? `: ${error.message}` : '';
  if (kind === 'unavailable')
    return new Refusal('cassette-unavailable', `Cannot answer: the cassette "${name}" is not there now${why}`);
  if (kind === 'late') return new Refusal('cassette-late', `Cannot answer: the cassette "${name}" took too long${why}`);
  return new Refusal('cassette-broken', `Cannot answer: the cassette "${name}" failed over this request${why}`, {
    cause: error,
  });
}

const tooLarge = (bytes: number) =>
  new Refusal('body-too-large', `Cannot take the body: a cassette gets at most ${bytes / 1024 / 1024} MiB`);

/** `/v1/cassettes/<installed>/rest?query` as `/<prefix>/<its own name>/rest?query`. */
function localAddress({ request, manifest, forwardAuth }: Mounted): string {
  const { pathname, search } = new URL(request.url);
  const rest = pathname.split('/').slice(4).join('/');
  const base = ownPrefix(manifest);
  const target = `${base}${rest === '' && !pathname.endsWith('/') ? '' : `/${rest}`}${search}`;
  return `http://cassette${forwardAuth ? target : redactUrl(target)}`;
}

/** Headers of a connection, not of a message (RFC 9110, 7.6.1). */
const HOP_BY_HOP = [
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['proxy-authenticate', 'proxy-authorization', 'expect', 'host', 'content-length'],
];
function requestHeaders({ request, name, basePath = '', forwardAuth, caller, requestId, peer }: Mounted): Headers {
  const headers = new Headers(request.headers);
  dropHopByHop(headers);
  for (const header of [...headers.keys()])
    if (header.startsWith('x-svc-') || header.startsWith('x-forwarded-') || header === 'forwarded')
      headers.delete(header);
  if (!forwardAuth) dropCredentials(headers);
  const { host, protocol } = new URL(request.url);
  headers.set('x-forwarded-host', request.headers.get('host') ?? host);
  headers.set('x-forwarded-proto', protocol.slice(0, -1));
  headers.set('x-forwarded-prefix', `${basePath}/v1/cassettes/${name}`);
  if (peer) headers.set('x-forwarded-for', peer);
  headers.set('x-request-id', requestId);
  headers.set('x-svc-cassette', name);
  if (forwardAuth && caller !== null) headers.set('x-svc-auth-subject', caller);
  return headers;
}

/** Drops headers that are credentials; from the values of others only what is a credential is removed. */
function dropCredentials(headers: Headers): void {
  for (const [name, value] of [...headers]) {
    const redacted = redactedHeader(name, value);
    if (redacted === REDACTED) headers.delete(name);
    else if (redacted !== value) headers.set(name, redacted);
  }
}

/**
 * Drops the headers that only the service may set: cookies of its origin, CORS, the request id. A page of the cassette is sandboxed into
 * an origin of its own, from which nothing of ours can be read.
 */
function responseHeaders(from: Headers, name: string): Headers {
  const length = from.get('content-length');
  const headers = new Headers(from);
  dropHopByHop(headers);
  if (length !== null) headers.set('content-length', length);
  for (const header of [...headers.keys()])
    if (header.startsWith('access-control-') || OURS.includes(header)) headers.delete(header);
  headers.append('content-security-policy', 'sandbox allow-scripts allow-forms allow-popups allow-downloads');
  headers.set('x-svc-cassette', name);
  return headers;
}
const OURS = [
  ...['set-cookie', 'x-request-id', 'cross-origin-resource-policy', 'x-content-type-options', 'clear-site-data'],
  ...['strict-transport-security', 'www-authenticate', 'service-worker-allowed'],
];

function dropHopByHop(headers: Headers): void {
  const connectionHeaders = (headers.get('connection') ?? '').split(',').map((name) => name.trim().toLowerCase());
  for (const name of [...HOP_BY_HOP, ...connectionHeaders])
    if (/^[!#$%&'*+.^_`|~\w-]+$/.test(name)) headers.delete(name);
}

/** Limits the body to `most` bytes. @param moved called for each chunk that is read */
function bounded(body: ReadableStream<Uint8Array>, most: number, moved: () => void) {
  let bytes = 0;
  const count = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      moved();
      if (bytes > most) controller.error(new Error('Cannot send on: the body is too large'));
      else controller.enqueue(chunk);
    },
  });
  return { stream: body.pipeThrough(count), over: () => bytes > most };
}

/** Timeout until the head of the response, restarted by each chunk of the request body: a slow upload is no fault of the cassette. */
function idleTimer(ms: number, passed: () => void) {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      timer = undefined;
      reject(new CassetteDown('late', `no answer within ${ms / 1000} s`));
      passed();
    }, ms);
  });
  late.catch(() => {}); // it may reject after the response, when nobody awaits it
  return {
    late,
    moved: () => void timer?.refresh(),
    stop: () => {
      clearTimeout(timer);
      timer = undefined; // refresh would start a cleared timer again
    },
  };
}

/** Cuts a response when no byte comes within `idleMs` of being read; a slow reader is no fault of the cassette. */
function watched(
  body: ReadableStream<Uint8Array>,
  idleMs: number,
  signal: AbortSignal,
  ending: AbortController,
  { request, cut }: Pick<Mounted, 'request' | 'cut'>,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let over = false;
  let aborted = () => {};
  /** @returns false: it had ended already */
  const end = (): boolean => {
    signal.removeEventListener('abort', aborted);
    const first = !over;
    over = true;
    return first;
  };
  const fail = (controller: ReadableStreamDefaultController<Uint8Array>, why: string) => {
    if (!end()) return;
    ending.abort();
    void reader.cancel(new Error(why)).catch(() => {});
    if (!cut) return controller.error(new Error(`Cannot send on: ${why}`));
    if (!request.signal.aborted) cut(why); // the adaptor would write a stream error into the body
    controller.close();
  };
  return new ReadableStream<Uint8Array>({
    start(controller) {
      aborted = () => fail(controller, request.signal.aborted ? 'the reader left' : 'the cassette was withdrawn');
      if (signal.aborted) aborted();
      else signal.addEventListener('abort', aborted, { once: true });
    },
    async pull(controller) {
      const nothing = () => fail(controller, `the cassette sent nothing for ${idleMs / 1000} s`);
      const timer = setTimeout(nothing, idleMs);
      try {
        const { done, value } = await reader.read();
        if (over) return;
        if (!done) return controller.enqueue(value);
        end();
        controller.close();
      } catch {
        fail(controller, 'the cassette broke off');
      } finally {
        clearTimeout(timer);
      }
    },
    cancel(reason) {
      end();
      ending.abort();
      return reader.cancel(reason);
    },
  });
}
