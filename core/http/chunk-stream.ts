/** Streams bytes that are made while they are sent, as the reader takes them. */
import type { Context } from 'hono';
import type { Logger } from '../log.ts';
import { cutStream } from './cut-stream.ts';
import type { HttpEnv } from './routes.ts';

type Head = Readonly<Record<string, string>>;

/**
 * Responds 200 with the chunks. The first one is made before the head is sent, so an error until then is an ordinary failure; later the
 * connection is cut, since the beginning of something must not look like the whole.
 */
export async function chunkStream(
  c: Context<HttpEnv>,
  chunks: AsyncGenerator<Uint8Array, void>,
  head: Head,
  log: Logger,
): Promise<Response> {
  const first = await chunks.next();
  let settle = () => {};
  c.set(
    'streamed',
    new Promise<void>((resolve) => {
      settle = resolve;
    }),
  );
  if (c.req.method === 'HEAD' || c.finalized) {
    await chunks.return(undefined).finally(settle); // the rest is not read: HEAD has no body, and past the deadline a response was sent
    return c.body(null, 200, head);
  }
  let pending: IteratorResult<Uint8Array, void> | null = first;
  let readerLeft = false;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = pending ?? (await chunks.next());
        pending = null;
        if (readerLeft) return;
        if (!done) return controller.enqueue(value);
        settle();
        controller.close();
      } catch (thrown) {
        settle();
        if (readerLeft) return;
        cutStream(c, controller, thrown, log);
      }
    },
    async cancel() {
      readerLeft = true;
      await chunks.return(undefined).finally(settle);
    },
  });
  return c.body(body, 200, head);
}
