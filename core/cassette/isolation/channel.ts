/** The client of a cassette's process: HTTP/2 over a socket that only the two processes hold. No path, no port, no secret to keep. */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionRequestOptions,
  connect,
  constants,
  type IncomingHttpHeaders,
} from 'node:http2';
import type { Socket } from 'node:net';
import { aborted } from '../../aborted.ts';
import { CassetteDown } from '../running.ts';
import { bodyOf, headersOf, pairsOf, sendBody, textOf, wholeness } from './child/bodies.mjs';
import { cancelExchange } from './child/cancel-exchange.mjs';
import { LIMITS } from './child/limits.mjs';
import { responseHead, UnusableHead } from './response-head.ts';

/** Requests to the cassette's process, by name. A run of `scheduled` is stopped by its signal. */
export type CassetteChannel = {
  hello(): Promise<unknown>;
  bind(bindings: { config: object; db: boolean; core: boolean }): Promise<void>;
  fetch(request: Request): Promise<Response>;
  scheduled(event: { scheduled_at: number; signal: AbortSignal }): Promise<void>;
  /** Settles when nothing is under way. */
  drain(): Promise<void>;
  /** How long its event loop took to reply, in milliseconds. */
  beat(): Promise<number>;
  /** Breaks off everything under way. */
  close(): void;
};

const ANSWER_BYTES = 8_388_608;

type Options = {
  name: string;
  /** Called when the channel has closed: the reason, such as `it ended with code 7`. */
  ended: () => Promise<string>;
};

export function openChannel(socket: Socket, { name, ended }: Options): CassetteChannel {
  const session = connect('http://cassette', { ...LIMITS, createConnection: () => socket });
  session.on('error', () => session.destroy()); // closing it fails all pending requests
  const cassetteDown = (why: string) => new CassetteDown('broken', `Cannot ask "${name}": ${why}`);
  const down: Down = async (why) => {
    if (why !== undefined) return cassetteDown(why);
    await new Promise(setImmediate); // a stream closes before its session does
    return cassetteDown(session.destroyed || session.closed ? await ended() : 'it broke off over this request');
  };

  const send = async (operation: string, body?: object): Promise<unknown> => {
    const stream = await open(session, { ':method': 'POST', 'svc-operation': operation }, down);
    stream.end(body === undefined ? undefined : JSON.stringify(body));
    return answerOf(stream, down);
  };

  /** Responses that have begun but are not read to their end. */
  const unread = new Set<Promise<void>>();

  return {
    hello: () => send('hello'),
    async bind(bindings) {
      await send('bind', bindings);
    },
    async fetch(request) {
      const { response, over } = await exchange(session, request, down);
      unread.add(over);
      void over.then(() => unread.delete(over));
      return response;
    },
    async scheduled({ scheduled_at, signal }) {
      signal.throwIfAborted();
      const headers = { ':method': 'POST', 'svc-operation': 'scheduled', 'svc-scheduled-at': `${scheduled_at}` };
      const stream = await open(session, headers, down);
      const stop = () => stream.end();
      signal.addEventListener('abort', stop, { once: true });
      try {
        const { failure } = (await answerOf(stream, down)) as { failure?: unknown };
        if (typeof failure === 'string') throw new Error(failure);
      } finally {
        signal.removeEventListener('abort', stop);
        stream.end();
      }
    },
    async drain() {
      await send('close');
      while (unread.size > 0) await Promise.race(unread);
    },
    beat: () =>
      new Promise((resolve, reject) => {
        if (session.destroyed || session.closed) return reject(cassetteDown('its channel is closed'));
        session.ping((error, ms) => (error ? reject(cassetteDown('its channel closed')) : resolve(ms)));
      }),
    close: () => session.destroy(),
  };
}

type Down = (why?: string) => Promise<CassetteDown>;

async function open(
  session: ClientHttp2Session,
  headers: Record<string, string | string[]>,
  down: Down,
  options: ClientSessionRequestOptions = {},
): Promise<ClientHttp2Stream> {
  try {
    const stream = session.request(headers, options);
    stream.on('error', () => {}); // handled on 'close'
    return stream;
  } catch {
    throw await down(); // the session is closed or closing
  }
}

/** The head of the response. @throws {CassetteDown} there will be none */
const headOf = (stream: ClientHttp2Stream, down: Down): Promise<IncomingHttpHeaders> =>
  new Promise((resolve, reject) => {
    stream.once('response', (headers) => {
      const why = headers['svc-broken'];
      if (why === undefined) return resolve(headers);
      stream.resume();
      void down(BROKE[`${why}`] ?? 'it answered what cannot be passed on').then(reject);
    });
    stream.once('close', () => void down().then(reject));
  });

const BROKE: Record<string, string> = {
  threw: 'its fetch threw over this request; the log has the error',
  'no-response': 'its fetch gave something that is no Response',
  'status-0': 'its answer has the status 0',
  'body-used': 'its fetch gave a Response whose body was read already',
  'headers-too-large': 'the headers of its answer are longer than 60 kB',
};

async function answerOf(stream: ClientHttp2Stream, down: Down): Promise<unknown> {
  const text = textOf(stream, { limit: ANSWER_BYTES });
  text.catch(() => {}); // then the head has failed as well
  await headOf(stream, down);
  try {
    return JSON.parse(await text);
  } catch (error) {
    stream.close(constants.NGHTTP2_CANCEL);
    throw await down(error instanceof RangeError ? `its answer cannot be read: ${error.message}` : undefined);
  }
}

async function exchange(
  session: ClientHttp2Session,
  request: Request,
  down: Down,
): Promise<{ response: Response; over: Promise<void> }> {
  const { signal, method, body } = request;
  signal.throwIfAborted();
  const url = new URL(request.url);
  const path = `${url.pathname}${url.search}`;
  const pseudoHeaders = {
    ':method': method,
    ':scheme': url.protocol.slice(0, -1),
    ':authority': url.host,
    ':path': path,
  };
  const requestHeaders = { ...headersOf(request.headers), ...pseudoHeaders, 'svc-operation': 'fetch' };
  const stream = await open(session, requestHeaders, down, {
    endStream: body === null,
    waitForTrailers: body !== null,
  });
  const whole = wholeness(stream);
  const giveUp = () => cancelExchange(session, stream, { 'svc-operation': 'cancel' });
  signal.addEventListener('abort', giveUp, { once: true });
  stream.once('close', () => signal.removeEventListener('abort', giveUp));
  if (body !== null) {
    sendBody(body, stream).catch(giveUp);
    stream.once('end', () => {
      if (!stream.writableFinished) giveUp(); // the response is complete: the rest of the body is not needed
    });
  }
  try {
    const head = await Promise.race([headOf(stream, down), aborted(signal)]);
    const { status, headers, empty } = responseHead(method, Number(head[':status']), pairsOf(head));
    if (empty) stream.resume();
    const broken = () => (signal.aborted ? signal.reason : down());
    const over = new Promise<void>((resolve) => (stream.destroyed ? resolve() : stream.once('close', resolve)));
    const answer = empty ? null : bodyOf(stream, { whole, broken, unwanted: giveUp, gone: signal });
    return {
      response: new Response(answer, { status, headers }),
      over,
    };
  } catch (error) {
    giveUp();
    if (signal.aborted) throw signal.reason;
    throw error instanceof UnusableHead ? await down(error.message) : error;
  }
}
