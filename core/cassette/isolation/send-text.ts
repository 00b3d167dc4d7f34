/** Sends text with backpressure: in small chunks, as the reader takes them, and with a time limit for a reader that takes nothing. */
import { constants, type ServerHttp2Stream } from 'node:http2';
import { drained } from './child/bodies.mjs';

const CHUNK_CHARS = 64 * 1024;

export type ReaderLimits = {
  /** Aborts when the reader has left. */
  gone: AbortSignal;
  /** How long the reader may take nothing of what waits for it. */
  idleMs: number;
};

/** @throws {Error} the reader takes nothing; the stream is closed then */
export async function sendText(stream: ServerHttp2Stream, text: string, reader: ReaderLimits): Promise<void> {
  for (let at = 0; at < text.length && !reader.gone.aborted; ) {
    const end = chunkEnd(text, at);
    if (!stream.write(text.slice(at, end))) await drained(stream, reader.gone, reader.idleMs);
    at = end;
  }
}

/** Sends the last of the text. Settles when all of it has been read, or the reader has left. */
export async function endText(stream: ServerHttp2Stream, text: string, { gone, idleMs }: ReaderLimits): Promise<void> {
  if (gone.aborted) return;
  const last = lastChunkStart(text);
  await sendText(stream, text.slice(0, last), { gone, idleMs });
  if (gone.aborted) return;
  await new Promise<void>((resolve) => {
    const timeout = setTimeout(() => stream.close(constants.NGHTTP2_INTERNAL_ERROR), idleMs);
    const over = () => {
      clearTimeout(timeout);
      resolve();
    };
    stream.once('finish', over);
    stream.once('close', over);
    stream.end(text.slice(last));
  });
}

function lastChunkStart(text: string): number {
  let at = 0;
  for (let end = chunkEnd(text, 0); end < text.length; end = chunkEnd(text, end)) at = end;
  return at;
}

/** Never between the two halves of a surrogate pair. */
function chunkEnd(text: string, at: number): number {
  const end = Math.min(text.length, at + CHUNK_CHARS);
  const code = text.charCodeAt(end - 1);
  return end < text.length && code >= 0xd800 && code < 0xdc00 ? end + 1 : end;
}
