/**
 * Lets a client that is still sending read its response. A connection that is closed with unread bytes is reset, and the reset may
 * overtake the response (RFC 9112, 9.6). So the response is sent at once, and ended when the client has sent everything.
 */
import type { Readable } from 'node:stream';

export const LINGER_MS = 2_000;
export const LINGER_BYTES = 64 * 1024 * 1024; // they take no memory: they are dropped as they come

/**
 * Drops what still comes and calls `done` once: when the client has sent everything or left, or a limit of time or bytes is reached.
 * @returns a function that stops listening, without calling `done`
 */
export function whenSent(incoming: Readable, done: () => void): () => void {
  let bytesLeft = LINGER_BYTES;
  const drop = (bytes: Uint8Array) => {
    bytesLeft -= bytes.byteLength;
    if (bytesLeft < 0) finish();
  };
  const finish = () => {
    stop();
    done();
  };
  const timer = setTimeout(() => finish(), LINGER_MS);
  const stop = () => {
    clearTimeout(timer);
    incoming.off('data', drop).off('end', finish).off('close', finish);
  };
  if (incoming.readableEnded || incoming.destroyed) {
    finish();
    return stop;
  }
  incoming.on('error', () => {}); // its 'close' follows
  incoming.on('end', finish).on('close', finish).on('data', drop);
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
