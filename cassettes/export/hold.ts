/** The stream of an export, at the reader's speed. Its beginning is held back, so that what fails until then is an ordinary failure. */

/** The approximate size of a chunk. */
const CHUNK_CHARACTERS = 64 * 1024;

/** The lines in chunks of bytes. A chunk ends with each line, so that a reader has every line as soon as it is complete. */
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

/** `whole`: the export ended within the bytes that are held back. */
export type HeldExport =
  | { whole: Uint8Array<ArrayBuffer>; rest: null }
  | { whole: null; rest: ReadableStream<Uint8Array> };

type HoldOptions = {
  /** How much is held back before anything is sent. */
  bytes: number;
  /** Aborted when the reader left. */
  signal: AbortSignal;
  /** Called with the reason when a response that has begun could not be finished. */
  failed: (error: unknown) => void;
};

/** Throws what the chunks throw while they are held back. After that the stream fails, since half an export must not look like a whole one. */
export async function held(
  chunks: AsyncGenerator<Uint8Array, void>,
  { bytes, signal, failed }: HoldOptions,
): Promise<HeldExport> {
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
        const buffered = first.shift();
        if (buffered) return controller.enqueue(buffered);
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
        await chunks.return(); // no further page is queried
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
