/**
 * How a client that is still sending gets to read an answer. A connection that is closed over bytes nobody has read is reset, and
 * the reset may overtake the answer (RFC 9112, 9.6). So the answer leaves at once and its end waits for the client.
 */
import type { Readable } from 'node:stream';

export const LINGER_MS = 2_000;
export const LINGER_BYTES = 64 * 1024 * 1024; // of nobody's memory: they are dropped as they come

/**
 * Drops what still comes and calls `done` once: when the client has sent all it has, has left, or was waited for long enough.
 * @returns stops listening, without a call
 */
export function whenSent(incoming: Readable, done: () => void): () => void {
  let left = LINGER_BYTES;
  const drop = (bytes: Uint8Array) => {
    left -= bytes.byteLength;
    if (left < 0) over();
  };
  const over = () => {
    stop();
    done();
  };
  const timer = setTimeout(() => over(), LINGER_MS);
  const stop = () => {
    clearTimeout(timer);
    incoming.off('data', drop).off('end', over).off('close', over);
  };
  if (incoming.readableEnded || incoming.destroyed) {
    over();
    return stop;
  }
  incoming.on('error', () => {}); // its 'close' follows
  incoming.on('end', over).on('close', over).on('data', drop);
  return stop;
}

/** The text as a body that ends when nothing more comes from the client. */
export const lingering = (text: string, incoming: Readable): ReadableStream<Uint8Array> => {
  let stop = () => {};
  return new ReadableStream({
    start(controller) {
      controller.enqueue(Buffer.from(text));
      stop = whenSent(incoming, () => controller.close());
    },
    cancel: () => stop(),
  });
};
