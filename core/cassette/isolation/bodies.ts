/** Bodies between Web streams and Node's streams: read at the reader's pace, and an end on either side ends the other. */
import { type ClientHttp2Stream, constants, type ServerHttp2Stream } from 'node:http2';

import type { Readable } from 'node:stream';

type Http2Stream = ClientHttp2Stream | ServerHttp2Stream;

const AHEAD_BYTES = 65_536;

type BodyEvents = { whole: () => boolean; broken: () => unknown; unwanted: () => void; gone?: AbortSignal };

/**
 * The body that the other side sends, as a Web stream.
 * @param whole called at the end: whether all of the body came
 * @param broken gives the reader's error when the other side goes before the end; may be a promise
 * @param unwanted called when the reader cancels
 * @param gone aborts when the reader has left: the stream fails at once
 */
export function bodyOf(stream: Readable, { whole, broken, unwanted, gone }: BodyEvents): ReadableStream<Uint8Array> {
  let over = false;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const fail = () => {
          if (over) return;
          over = true;
          void Promise.resolve(broken()).then((error) => controller.error(error));
        };
        stream.on('data', (chunk: Buffer) => {
          if (over) return;
          controller.enqueue(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength));
          if ((controller.desiredSize ?? 0) <= 0) stream.pause();
        });
        stream.once('end', () => {
          if (!whole()) return fail();
          if (over) return;
          over = true;
          controller.close();
        });
        stream.once('error', fail);
        stream.once('close', () => {
          gone?.removeEventListener('abort', fail);
          fail();
        });
        gone?.addEventListener('abort', fail, { once: true });
        stream.pause();
      },
      pull() {
        stream.resume();
      },
      cancel() {
        over = true;
        unwanted();
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: AHEAD_BYTES }),
  );
}

/**
 * Whether all of a body came: a trailer tells it, since a stream that broke off ends like any other. Call it before anything can
 * have been received.
 */
export function wholeness(stream: Http2Stream): () => boolean {
  let whole = false;
  stream.once('trailers', (trailers) => {
    whole = trailers['svc-whole'] === '1';
  });
  return () => whole;
}

/**
 * Sends a body to the end, or until the other side has gone, which cancels its source. The stream waits for trailers.
 * @param idleMs how long the reader may take nothing of what waits for it
 * @throws what the source throws, or that nobody reads
 */
export async function sendBody(body: ReadableStream<Uint8Array>, stream: Http2Stream, idleMs?: number): Promise<void> {
  const reader = body.getReader();
  const gone = new AbortController();
  const cancelSource = () => {
    gone.abort();
    reader.cancel().catch(() => {});
  };
  if (stream.closed) cancelSource();
  stream.once('close', cancelSource);
  try {
    while (!gone.signal.aborted) {
      const { done, value } = await reader.read();
      if (gone.signal.aborted) return;
      if (done) {
        stream.once('wantTrailers', () => stream.sendTrailers({ 'svc-whole': '1' }));
        stream.end();
        return;
      }
      if (!stream.write(value)) await drained(stream, gone.signal, idleMs);
    }
  } catch (error) {
    cancelSource();
    throw error;
  } finally {
    stream.off('close', cancelSource);
  }
}

/**
 * Settles when the stream can be written again, or its reader has gone.
 * @throws {Error} the reader took nothing for `idleMs`
 */
export const drained = (stream: Http2Stream, gone: AbortSignal, idleMs?: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const settle = () => {
      clearTimeout(timeout);
      stream.off('drain', go);
      gone.removeEventListener('abort', go);
    };
    const go = () => {
      settle();
      resolve();
    };
    const timeout =
      idleMs === undefined
        ? undefined
        : setTimeout(() => {
            settle();
            reject(new Error('Cannot send an answer: its reader takes nothing'));
          }, idleMs);
    if (gone.aborted) return go();
    stream.once('drain', go);
    gone.addEventListener('abort', go);
  });

/** A small body as a whole, in text. @throws {RangeError} it is longer than `limit` bytes; @throws {Error} it broke off */
export function textOf(stream: Http2Stream, limit: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= limit) {
        chunks.push(chunk);
        return;
      }
      chunks.length = 0;
      reject(new RangeError(`it is longer than ${limit} bytes`)); // the rest is read and discarded
    });
    stream.once('end', () => {
      if (stream.rstCode === constants.NGHTTP2_NO_ERROR && !stream.aborted) resolve(Buffer.concat(chunks).toString());
    });
    const broken = () => reject(new Error('it broke off'));
    stream.once('error', broken);
    stream.once('close', broken);
  });
}

/** Headers of one connection, which HTTP/2 refuses. */
const CONNECTION = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'te',
];

/** Headers for HTTP/2: without those of a connection and without `svc-…` ones, which both ends use themselves; cookies one by one. */
export function headersOf(headers: Headers): Record<string, string | string[]> {
  const forwarded: Record<string, string | string[]> = {};
  for (const [name, value] of headers) {
    if (!CONNECTION.includes(name) && !name.startsWith('svc-') && name !== 'set-cookie') forwarded[name] = value;
  }
  const cookies = headers.getSetCookie();
  return cookies.length === 0 ? forwarded : { ...forwarded, 'set-cookie': cookies };
}

/** The reverse: pairs of names and values. */
export function* pairsOf(
  received: Record<string, string | string[] | undefined>,
): Generator<[name: string, value: string]> {
  for (const [name, values] of Object.entries(received)) {
    if (name.startsWith(':') || name.startsWith('svc-')) continue;
    for (const value of [values ?? []].flat()) yield [name, value];
  }
}

export function headersFrom(received: Record<string, string | string[] | undefined>): Headers {
  const headers = new Headers();
  for (const [name, value] of pairsOf(received)) headers.append(name, value);
  return headers;
}
