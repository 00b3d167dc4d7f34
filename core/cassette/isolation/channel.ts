/** How is a cassette's process asked? HTTP/2 over a socket that only it and we hold: no path, no port, no secret to keep. */
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
import { bodyOf, headersOf, pairsOf, sendBody, textOf, wholeness } from './bodies.ts';
import { leave } from './leave.ts';
import { responseHead, UnusableHead } from './response-head.ts';

/**
 * What both ends agree on; twin of child/limits.mjs. A stream is read so far ahead and no further, and one that nobody reads
 * keeps no other from being read. A header block ends at 64 KiB.
 */
export const CHANNEL = {
  settings: { enablePush: false, initialWindowSize: 262_144, maxHeaderListSize: 65_536 },
  maxSessionMemory: 256,
  maxHeaderListPairs: 512,
};

/** `handed` and the end of its work are told by name; `scheduled` stops when the signal says so. */
export type Channel = {
  hello(): Promise<unknown>;
  hand(handed: { config: object; db: boolean; core: boolean }): Promise<void>;
  fetch(request: Request): Promise<Response>;
  scheduled(event: { scheduled_at: number; signal: AbortSignal }): Promise<void>;
  /** Settles when nothing is under way any more. */
  rest(): Promise<void>;
  /** How long its event loop took to answer, in milliseconds. */
  beat(): Promise<number>;
  /** Everything under way breaks. */
  close(): void;
};

const ANSWER_BYTES = 8_388_608;

type Options = {
  name: string;
  /** Asked when the channel has closed: why, `it ended with code 7`. */
  ended: () => Promise<string>;
};

export function openChannel(socket: Socket, { name, ended }: Options): Channel {
  const session = connect('http://cassette', { ...CHANNEL, createConnection: () => socket });
  session.on('error', () => session.destroy()); // its end tells those who wait
  const because = (why: string) => new CassetteDown('broken', `Cannot ask "${name}": ${why}`);
  const down: Down = async (why) => {
    if (why !== undefined) return because(why);
    await new Promise(setImmediate); // the end of a stream comes before that of its session
    return because(session.destroyed || session.closed ? await ended() : 'it broke off over this request');
  };

  const tell = async (ask: string, body?: object): Promise<unknown> => {
    const stream = await open(session, { ':method': 'POST', 'svc-ask': ask }, down);
    stream.end(body === undefined ? undefined : JSON.stringify(body));
    return answerOf(stream, down);
  };

  /** Answers that it has given, but whose reader is not at their end. */
  const unread = new Set<Promise<void>>();

  return {
    hello: () => tell('hello'),
    async hand(handed) {
      await tell('handed', handed);
    },
    async fetch(request) {
      const { response, over } = await exchange(session, request, down);
      unread.add(over);
      void over.then(() => unread.delete(over));
      return response;
    },
    async scheduled({ scheduled_at, signal }) {
      signal.throwIfAborted();
      const asked = { ':method': 'POST', 'svc-ask': 'scheduled', 'svc-scheduled-at': `${scheduled_at}` };
      const stream = await open(session, asked, down);
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
    async rest() {
      await tell('close');
      while (unread.size > 0) await Promise.race(unread);
    },
    beat: () =>
      new Promise((resolve, reject) => {
        if (session.destroyed || session.closed) return reject(because('its channel is closed'));
        session.ping((error, ms) => (error ? reject(because('its channel closed')) : resolve(ms)));
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
    stream.on('error', () => {}); // told by its close
    return stream;
  } catch {
    throw await down(); // it is closed, or closes
  }
}

/** The head of an answer, or that there will be none. */
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
  'body-used': 'its fetch gave a Response whose body was read already',
  'headers-too-large': 'the headers of its answer are longer than 60 kB',
};

async function answerOf(stream: ClientHttp2Stream, down: Down): Promise<unknown> {
  const text = textOf(stream, ANSWER_BYTES);
  text.catch(() => {}); // the head failed first
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
  const asked = { ':method': method, ':scheme': url.protocol.slice(0, -1), ':authority': url.host, ':path': path };
  const sent = { ...headersOf(request.headers), ...asked, 'svc-ask': 'fetch' };
  const stream = await open(session, sent, down, { endStream: body === null, waitForTrailers: body !== null });
  const whole = wholeness(stream);
  const giveUp = () => leave(session, stream, { 'svc-ask': 'leave' });
  signal.addEventListener('abort', giveUp, { once: true });
  stream.once('close', () => signal.removeEventListener('abort', giveUp));
  if (body !== null) {
    sendBody(body, stream).catch(giveUp);
    stream.once('end', () => {
      if (!stream.writableFinished) giveUp(); // answered in full: it wants no more of the body
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
