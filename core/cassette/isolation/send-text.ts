/** Sends text at the reader's pace: a little at a time, and not for ever to one who takes nothing. */
import { constants, type ServerHttp2Stream } from 'node:http2';
import { drained } from './bodies.ts';

const PIECE_CHARS = 64 * 1024;

export type ReaderPace = {
  /** Aborts when the reader has left. */
  gone: AbortSignal;
  /** So long may a reader take nothing of what is there for it. */
  idleMs: number;
};

/** @throws {Error} the reader takes nothing; the stream is closed then */
export async function sendText(stream: ServerHttp2Stream, text: string, pace: ReaderPace): Promise<void> {
  for (let at = 0; at < text.length && !pace.gone.aborted; ) {
    const end = pieceEnd(text, at);
    if (!stream.write(text.slice(at, end))) await drained(stream, pace.gone, pace.idleMs);
    at = end;
  }
}

/** Settles when all of it has been taken, or the reader has left. */
export async function endText(stream: ServerHttp2Stream, text: string, { gone, idleMs }: ReaderPace): Promise<void> {
  if (gone.aborted) return;
  const last = lastPiece(text);
  await sendText(stream, text.slice(0, last), { gone, idleMs });
  if (gone.aborted) return;
  await new Promise<void>((resolve) => {
    const late = setTimeout(() => stream.close(constants.NGHTTP2_INTERNAL_ERROR), idleMs);
    const over = () => {
      clearTimeout(late);
      resolve();
    };
    stream.once('finish', over);
    stream.once('close', over);
    stream.end(text.slice(last));
  });
}

function lastPiece(text: string): number {
  let at = 0;
  for (let end = pieceEnd(text, 0); end < text.length; end = pieceEnd(text, end)) at = end;
  return at;
}

/** Never between the halves of a character. */
function pieceEnd(text: string, at: number): number {
  const end = Math.min(text.length, at + PIECE_CHARS);
  const code = text.charCodeAt(end - 1);
  return end < text.length && code >= 0xd800 && code < 0xdc00 ? end + 1 : end;
}
