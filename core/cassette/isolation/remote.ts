/** A cassette that somebody else runs: requests go to the origin of its document, over HTTP, and redirects are not followed. */
import { Agent as HttpAgent, type IncomingMessage, request as overHttp, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as overHttps } from 'node:https';
import { Readable } from 'node:stream';
import { CassetteDown, type Confinement, type Liveness, type RunningCassette } from '../running.ts';
import { bodyOf } from './child/bodies.mjs';
import { responseHead, UnusableHead } from './response-head.ts';
import { openUnderWay } from './under-way.ts';

const ELSEWHERE: Confinement = {
  level: 'none',
  stops: [],
  does_not_stop: ['anything: it runs elsewhere; it learns what is sent to it, and what it answers is passed on'],
};

const CONNECT_MS = 10_000;

/** Headers that belong to one connection and not to the request. */
const CONNECTION = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'te',
  'trailer',
  'host',
];

/** @param address of its OpenAPI document, http or https; only the origin counts */
export function startRemote({ address, name }: { address: URL; name: string }): RunningCassette {
  const secure = address.protocol === 'https:';
  const agent = new (secure ? HttpsAgent : HttpAgent)({ keepAlive: true, timeout: CONNECT_MS });
  const send = secure ? overHttps : overHttp;
  let liveness: Liveness = { state: 'up', reason: null, restarts: 0 };
  const { track, drain } = openUnderWay();
  const down = (kind: 'unavailable' | 'broken', why: string) =>
    new CassetteDown(kind, `Cannot ask "${name}" at ${address.origin}: ${why}`);

  const exchange = (request: Request): Promise<Response> =>
    new Promise((resolve, reject) => {
      const { pathname, search } = new URL(request.url);
      const options: RequestOptions = {
        agent,
        method: request.method,
        path: `${pathname}${search}`,
        headers: Object.fromEntries([...request.headers].filter(([header]) => !CONNECTION.includes(header))),
        signal: request.signal,
      };
      const outgoing = send(new URL(address.origin), options);
      let connected = false;
      outgoing.once('socket', (socket) => {
        connected = !socket.connecting; // a connection kept alive from an earlier request
        if (connected) return;
        const timeout = setTimeout(
          () => outgoing.destroy(new Error(`no connection within ${CONNECT_MS / 1000} s`)),
          CONNECT_MS,
        );
        socket.once('close', () => clearTimeout(timeout));
        socket.once(secure ? 'secureConnect' : 'connect', () => {
          connected = true;
          clearTimeout(timeout);
        });
      });
      outgoing.once('response', (answer) => {
        liveness = { ...liveness, reason: null };
        try {
          resolve(responseOf(answer, request, () => down('broken', 'it broke off')));
        } catch (error) {
          outgoing.destroy();
          reject(down('broken', error instanceof UnusableHead ? error.message : 'its answer cannot be passed on'));
        }
      });
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        if (request.signal.aborted) return reject(request.signal.reason);
        const why = error.code === 'ECONNRESET' ? 'it closed the connection' : (error.code ?? error.message);
        if (!connected) liveness = { ...liveness, reason: why };
        reject(down(connected ? 'broken' : 'unavailable', why));
      });
      outgoing.once('close', () => reject(down('broken', 'it gave no answer'))); // a 101 emits neither 'response' nor 'error'
      if (request.body === null) outgoing.end();
      else
        Readable.fromWeb(request.body as import('node:stream/web').ReadableStream)
          .on('error', (error) => outgoing.destroy(error))
          .pipe(outgoing);
    });

  return {
    loaded: null,
    confinement: ELSEWHERE,
    liveness: () => liveness,
    progress: () => null, // whoever runs it runs its background work
    async fetch(request) {
      if (liveness.state === 'closed') throw down('unavailable', 'it was closed');
      request.signal.throwIfAborted();
      return track(exchange(request));
    },
    async scheduled() {
      throw new Error(`Cannot run the background work of "${name}": whoever runs it does that`);
    },
    async close(graceMs) {
      liveness = { ...liveness, state: 'closed' };
      await drain(graceMs);
      agent.destroy();
    },
  };
}

/** @throws {UnusableHead} */
function responseOf(answer: IncomingMessage, { method, signal }: Request, down: () => Error): Response {
  const { status, headers, empty } = responseHead(method, answer.statusCode ?? 0, ownHeaders(answer));
  if (empty) {
    answer.resume();
    return new Response(null, { status, headers });
  }
  const body = bodyOf(answer, {
    whole: () => answer.complete,
    broken: () => (signal.aborted ? signal.reason : down()),
    unwanted: () => answer.destroy(),
  });
  return new Response(body, { status, headers });
}

function* ownHeaders({ rawHeaders }: IncomingMessage): Generator<[name: string, value: string]> {
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const [name = '', value = ''] = rawHeaders.slice(i, i + 2);
    if (!CONNECTION.includes(name.toLowerCase())) yield [name, value];
  }
}
