/** Bodies between Web streams and Node's streams. Twin of bodies.ts. */
import { constants } from 'node:http2';

const AHEAD_BYTES = 65_536;
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
 * @param {import('node:http2').Http2Stream} stream
 * @param {{ whole: () => boolean, broken: () => Error, unwanted: () => void }} events
 * @returns {ReadableStream<Uint8Array>}
 */
export function bodyOf(stream, { whole, broken, unwanted }) {
  let over = false;
  return new ReadableStream(
    {
      start(controller) {
        const fail = () => {
          if (over) return;
          over = true;
          controller.error(broken());
        };
        stream.on('data', (chunk) => {
          if (over) return;
          controller.enqueue(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength));
          if (controller.desiredSize <= 0) stream.pause();
        });
        stream.once('end', () => {
          if (!whole()) return fail();
          if (over) return;
          over = true;
          controller.close();
        });
        stream.once('error', fail);
        stream.once('close', fail);
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

/** @param {import('node:http2').Http2Stream} stream */
export function wholeness(stream) {
  let whole = false;
  stream.once('trailers', (trailers) => {
    whole = trailers['svc-whole'] === '1';
  });
  return () => whole;
}

/**
 * @param {ReadableStream<Uint8Array>} body
 * @param {import('node:http2').Http2Stream} stream
 */
export async function sendBody(body, stream) {
  const reader = body.getReader();
  let gone = stream.closed;
  const cancelSource = () => {
    gone = true;
    reader.cancel().catch(() => {});
  };
  if (gone) cancelSource();
  stream.once('close', cancelSource);
  try {
    while (!gone) {
      const { done, value } = await reader.read();
      if (gone) return;
      if (done) {
        stream.once('wantTrailers', () => stream.sendTrailers({ 'svc-whole': '1' }));
        stream.end();
        return;
      }
      if (!stream.write(value)) await drained(stream);
    }
  } finally {
    stream.off('close', cancelSource);
  }
}

/** @param {import('node:http2').Http2Stream} stream */
export const drained = (stream) =>
  new Promise((resolve) => {
    if (stream.closed) return resolve(undefined);
    const go = () => {
      stream.off('drain', go);
      stream.off('close', go);
      resolve(undefined);
    };
    stream.once('drain', go);
    stream.once('close', go);
  });

/**
 * @param {import('node:http2').Http2Stream} stream
 * @returns {Promise<string>}
 */
export function textOf(stream) {
  return new Promise((resolve, reject) => {
    /** @type {Buffer[]} */
    const chunks = [];
    stream.on('data', (chunk) => chunks.push(chunk));
    stream.once('end', () => {
      if (stream.rstCode === constants.NGHTTP2_NO_ERROR && !stream.aborted) resolve(Buffer.concat(chunks).toString());
    });
    const broken = () => reject(new Error('The service has gone'));
    stream.once('error', broken);
    stream.once('close', broken);
  });
}

/** @param {Headers} headers */
export function headersOf(headers) {
  /** @type {Record<string, string | string[]>} */
  const forwarded = {};
  for (const [name, value] of headers) {
    if (!CONNECTION.includes(name) && !name.startsWith('svc-') && name !== 'set-cookie') forwarded[name] = value;
  }
  const cookies = headers.getSetCookie();
  return cookies.length === 0 ? forwarded : { ...forwarded, 'set-cookie': cookies };
}

/** @param {Record<string, string | string[] | undefined>} received */
export function headersFrom(received) {
  const headers = new Headers();
  for (const [name, values] of Object.entries(received)) {
    if (name.startsWith(':') || name.startsWith('svc-')) continue;
    for (const value of [values ?? []].flat()) headers.append(name, value);
  }
  return headers;
}
