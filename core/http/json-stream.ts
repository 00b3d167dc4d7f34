/** Streams a large JSON document chunk by chunk as the reader takes it, so that it is never in memory as a whole. */
import type { Context, TypedResponse } from 'hono';
import type { Logger } from '../log.ts';
import { cutStream } from './cut-stream.ts';
import type { HttpEnv } from './routes.ts';

const CHUNK_BYTES = 64 * 1024;

/** A JSON response of this shape, as the contract's types see it. */
export type JsonAnswer<Body> = Response & TypedResponse<Body, 200, 'json'>;

/**
 * Responds 200 with the JSON text that the pieces make up. The first 64 KiB are made before the head is sent, so an error until
 * then is an ordinary failure; later the connection is cut, since half a document must not look like a whole one.
 */
export async function jsonStream<Body>(
  c: Context<HttpEnv>,
  pieces: AsyncGenerator<string, void>,
  log: Logger,
): Promise<JsonAnswer<Body>> {
  const chunks = chunked(pieces);
  const first = await chunks.next();
  const head = { 'content-type': 'application/json' };
  if (first.done || first.value.last) return c.body(first.value?.text ?? '', 200, head) as unknown as JsonAnswer<Body>;
  const { settled: streamed, settle: end } = streamEnd();
  c.set('streamed', streamed);
  if (c.req.method === 'HEAD' || c.finalized) {
    await chunks.return(undefined).finally(end); // the rest is not read: HEAD has no body, and past the deadline a response was sent
    return c.body(null, 200, head) as unknown as JsonAnswer<Body>;
  }

  let firstBytes: Uint8Array | null = Buffer.from(first.value.text);
  let readerLeft = false;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const bytes = firstBytes ?? (await nextBytes(chunks));
        firstBytes = null;
        if (readerLeft) return; // while its page was being fetched
        if (bytes) return controller.enqueue(bytes);
        end();
        controller.close();
      } catch (thrown) {
        end();
        if (readerLeft) return;
        cutStream(c, controller, thrown, log);
      }
    },
    async cancel() {
      readerLeft = true;
      await chunks.return(undefined).finally(end); // no further page is fetched
    },
  });
  return c.body(body, 200, head) as unknown as JsonAnswer<Body>;
}

const streamEnd = () => {
  let settle = () => {};
  const settled = new Promise<void>((resolve) => {
    settle = resolve;
  });
  return { settled, settle };
};

type Chunk = { text: string; last: boolean };

async function* chunked(pieces: AsyncGenerator<string, void>): AsyncGenerator<Chunk, void> {
  let text = '';
  for await (const piece of pieces) {
    text += piece;
    if (text.length < CHUNK_BYTES) continue;
    yield { text, last: false };
    text = '';
  }
  yield { text, last: true };
}

const nextBytes = async (chunks: AsyncGenerator<Chunk, void>): Promise<Uint8Array | null> => {
  const { value } = await chunks.next();
  return value && value.text !== '' ? Buffer.from(value.text) : null;
};

/** The members of an array in JSON, one piece each, with the commas between them. */
export async function* elements(members: AsyncIterable<unknown> | Iterable<unknown>): AsyncGenerator<string, void> {
  let separator = '';
  for await (const member of members) {
    yield separator + JSON.stringify(member);
    separator = ',';
  }
}
