// @ts-check
/**
 * Bodies between Web streams and Node's streams: read at the reader's pace, and an end on either side ends the other. The service and
 * its cassettes' processes both use this file; so it is JavaScript, and imports nothing that those processes may not read.
 */
import { constants } from 'node:http2';

/** @typedef {import('node:http2').ClientHttp2Stream | import('node:http2').ServerHttp2Stream} Http2Stream */

const AHEAD_BYTES = 65_536;

/**
 * @typedef {object} BodyEvents
 * @property {() => boolean} whole called at the end: whether all of the body came
 * @property {() => unknown} broken gives the reader's error when the other side goes before the end; may be a promise
 * @property {() => void} unwanted called when the reader cancels
 * @property {AbortSignal} [gone] aborts when the reader has left: the stream fails at once
 */

/**
 * The body that the other side sends, as a Web stream.
 * @param {import('node:stream').Readable} stream
 * @param {BodyEvents} events
 * @returns {ReadableStream<Uint8Array>}
 */
export function bodyOf(stream, { whole, broken, unwanted, gone }) {
  let over = false;
  return new ReadableStream(
    {
      start(/** @type {ReadableStreamDefaultController<Uint8Array>} */ controller) {
        const fail = () => {
          if (over) return;
          over = true;
          void Promise.resolve(broken()).then((error) => controller.error(error));
        };
        stream.on('data', (/** @type {Buffer} */ chunk) => {
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
 * Whether all of a body came: a trailer tells it, since a stream that broke off ends like any other. A response without a body ends with
 * its head, and has none. Call it before anything can have been received.
 * @param {Http2Stream} stream
 * @returns {() => boolean}
 */
export function wholeness(stream) {
  let whole = false;
  stream.once('response', (_headers, flags) => {
    whole = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
  });
  stream.once('trailers', (trailers) => {
    whole = trailers['svc-whole'] === '1';
  });
  return () => whole;
}

/**
 * Sends a body to the end, or until the other side has gone, which cancels its source. The stream waits for trailers.
 * @param {ReadableStream<Uint8Array>} body
 * @param {Http2Stream} stream
 * @param {number} [idleMs] how long the reader may take nothing of what waits for it
 * @returns {Promise<void>}
 * @throws what the source throws, or that nobody reads
 */
export async function sendBody(body, stream, idleMs) {
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
 * @param {Http2Stream} stream
 * @param {AbortSignal} gone
 * @param {number} [idleMs]
 * @returns {Promise<void>}
 * @throws {Error} the reader took nothing for `idleMs`
 */
export const drained = (stream, gone, idleMs) =>
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

/**
 * A small body as a whole, in text.
 * @param {Http2Stream} stream
 * @param {{ limit?: number, broke?: string }} [options] `limit` in bytes; `broke`: the message when it broke off
 * @returns {Promise<string>}
 * @throws {RangeError} it is longer than `limit` bytes @throws {Error} it broke off
 */
export function textOf(stream, { limit = Number.POSITIVE_INFINITY, broke = 'it broke off' } = {}) {
  return new Promise((resolve, reject) => {
    /** @type {Buffer[]} */
    const chunks = [];
    let bytes = 0;
    stream.on('data', (/** @type {Buffer} */ chunk) => {
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
    const broken = () => reject(new Error(broke));
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

/**
 * Headers for HTTP/2: without those of a connection and without `svc-…` ones, which both ends use themselves; cookies one by one.
 * @param {Headers} headers
 * @returns {Record<string, string | string[]>}
 */
export function headersOf(headers) {
  /** @type {Record<string, string | string[]>} */
  const forwarded = {};
  for (const [name, value] of headers) {
    if (!CONNECTION.includes(name) && !name.startsWith('svc-') && name !== 'set-cookie') forwarded[name] = value;
  }
  const cookies = headers.getSetCookie();
  return cookies.length === 0 ? forwarded : { ...forwarded, 'set-cookie': cookies };
}

/** @typedef {Record<string, string | string[] | undefined>} ReceivedHeaders */

/**
 * The reverse: pairs of names and values.
 * @param {ReceivedHeaders} received
 * @returns {Generator<[name: string, value: string]>}
 */
export function* pairsOf(received) {
  for (const [name, values] of Object.entries(received)) {
    if (name.startsWith(':') || name.startsWith('svc-')) continue;
    for (const value of [values ?? []].flat()) yield [name, value];
  }
}

/** @param {ReceivedHeaders} received */
export function headersFrom(received) {
  const headers = new Headers();
  for (const [name, value] of pairsOf(received)) headers.append(name, value);
  return headers;
}
