/** How does an export leave? As the reader takes it; its beginning is held, so that what fails until then is an ordinary failure. */

/** About so much is handed on at once. */
const CHUNK_CHARACTERS = 64 * 1024;

/** Bytes of the lines, the last ones of each at its end, so that a reader has every line as soon as it is told. */
export async function* chunksOf(
  lines: AsyncIterable<AsyncIterable<string>>,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  for await (const pieces of lines) {
    let text = '';
    for await (const piece of pieces) {
      text += piece;
      if (text.length < CHUNK_CHARACTERS) continue;
      yield encoder.encode(text);
      text = '';
    }
    if (text !== '') yield encoder.encode(text);
  }
}
const encoder = new TextEncoder();

/** `whole`: it ended within the hold. */
export type Held = { whole: Uint8Array<ArrayBuffer>; rest: null } | { whole: null; rest: ReadableStream<Uint8Array> };

type Holding = {
  /** What is made before anything leaves. */
  bytes: number;
  /** The reader left. */
  signal: AbortSignal;
  /** Hears why an answer that has begun could not be finished. */
  failed: (error: unknown) => void;
};

/** Throws what the chunks throw while they are held; later the stream fails with it, since half an export must not look like a whole one. */
export async function held(
  chunks: AsyncGenerator<Uint8Array, void>,
  { bytes, signal, failed }: Holding,
): Promise<Held> {
  const first: Uint8Array[] = [];
  try {
    for (let size = 0; size < bytes; ) {
      const { done, value } = await chunks.next();
      if (done) return { whole: joined(first), rest: null };
      signal.throwIfAborted();
      first.push(value);
      size += value.byteLength;
    }
  } catch (error) {
    await chunks.return();
    throw error;
  }
  return { whole: null, rest: streamOf(first, chunks, failed) };
}

const streamOf = (first: Uint8Array[], chunks: AsyncGenerator<Uint8Array, void>, failed: (error: unknown) => void) =>
  new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const held = first.shift();
        if (held) return controller.enqueue(held);
        try {
          const { done, value } = await chunks.next();
          if (done) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          failed(error);
          controller.error(new Error('Cannot finish the export'));
        }
      },
      async cancel() {
        await chunks.return(); // no further page is asked for
      },
    },
    { highWaterMark: 0 },
  );

function joined(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(chunks.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}
