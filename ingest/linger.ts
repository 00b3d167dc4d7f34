/**
 * How does a client that is still sending get to read an answer? A connection that is closed over bytes nobody has read is
 * reset, and the reset may overtake the answer (RFC 9112, 9.6). So the answer leaves at once and its end waits for the client.
 */
import type { Readable } from 'node:stream';

const LINGER_MS = 2_000;
const LINGER_BYTES = 64 * 1024 * 1024; // of nobody's memory: they are dropped as they come

/** The text as a body that ends when the client has sent all it has, has left, or was waited for long enough. */
export const lingering = (text: string, incoming: Readable): ReadableStream<Uint8Array> => {
  let stop = () => {};
  return new ReadableStream({
    start(controller) {
      controller.enqueue(Buffer.from(text));
      if (incoming.readableEnded || incoming.destroyed) return controller.close();
      let left = LINGER_BYTES;
      const over = () => {
        stop();
        controller.close();
      };
      const drop = (bytes: Uint8Array) => {
        left -= bytes.byteLength;
        if (left < 0) over();
      };
      const timer = setTimeout(over, LINGER_MS);
      stop = () => {
        clearTimeout(timer);
        incoming.off('data', drop).off('end', over).off('close', over);
      };
      incoming.on('error', () => {}); // its 'close' follows
      incoming.on('end', over).on('close', over).on('data', drop);
    },
    cancel: () => stop(),
  });
};
