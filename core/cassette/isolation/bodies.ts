/** How does a body go from Web streams to Node's and back? At the reader's pace, and an end on either side ends the other. */
import { type ClientHttp2Stream, constants, type ServerHttp2Stream } from 'node:http2';

import type { Readable } from 'node:stream';

type Http2Stream = ClientHttp2Stream | ServerHttp2Stream;

const AHEAD_BYTES = 65_536;

type BodyEvents = { whole: () => boolean; broken: () => unknown; unwanted: () => void; gone?: AbortSignal };

/**
 * What the other side sends, as a Web stream.
 * @param whole at its end: whether that was all
 * @param broken what its reader is told when the other side goes before the end; may take a moment to be known
 * @param unwanted its reader wants no more of it
 * @param gone aborts when its reader has left: it is broken at once
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
 * Whether all of a body came: said in a trailer, since the end of a stream that was broken off looks like any other. Asked for
 * before anything can have come.
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
 * @param idleMs so long may the reader take nothing of what is there for it
 * @throws what the source throws, or that nobody reads
 */
export async function sendBody(body: ReadableStream<Uint8Array>, stream: Http2Stream, idleMs?: number): Promise<void> {
  const reader = body.getReader();
  const gone = new AbortController();
  const leave = () => {
    gone.abort();
    reader.cancel().catch(() => {});
  };
  if (stream.closed) leave();
  stream.once('close', leave);
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
    leave();
    throw error;
  } finally {
    stream.off('close', leave);
  }
}

/**
 * When there is room again, or nobody who would make it.
 * @throws {Error} there was none for so long: the reader takes nothing
 */
export const drained = (stream: Http2Stream, gone: AbortSignal, idleMs?: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const settle = () => {
      clearTimeout(late);
      stream.off('drain', go);
      gone.removeEventListener('abort', go);
    };
    const go = () => {
      settle();
      resolve();
    };
    const late =
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
      reject(new RangeError(`it is longer than ${limit} bytes`)); // the rest is read and thrown away
    });
    stream.once('end', () => {
      if (stream.rstCode === constants.NGHTTP2_NO_ERROR && !stream.aborted) resolve(Buffer.concat(chunks).toString());
    });
    const broken = () => reject(new Error('it broke off'));
    stream.once('error', broken);
    stream.once('close', broken);
  });
}

/** Headers that belong to one connection, which HTTP/2 refuses. */
const CONNECTION = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'te',
];

/** As HTTP/2 wants them: without those of a connection and without `svc-…` ones, which we tell each other; cookies apart. */
export function headersOf(headers: Headers): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of headers) {
    if (!CONNECTION.includes(name) && !name.startsWith('svc-') && name !== 'set-cookie') kept[name] = value;
  }
  const cookies = headers.getSetCookie();
  return cookies.length === 0 ? kept : { ...kept, 'set-cookie': cookies };
}

/** And back, name by name. */
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
