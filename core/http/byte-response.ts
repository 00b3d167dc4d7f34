/** Responses with bytes that are in memory: whole, or the range of them that was asked for (RFC 9110, 14). */
import type { Context } from 'hono';
import { Refusal } from '../errors.ts';
import type { HttpEnv } from './routes.ts';

const CHUNK_BYTES = 64 * 1024;

/** `etag` names exactly these bytes. */
export type Bytes = { bytes: Uint8Array; type: string; etag: string };

/**
 * 200, or 206 for a single range; several ranges at once, and what is no range of bytes, are answered with the whole.
 * @throws {Refusal} range-unsatisfiable
 */
export function byteResponse(c: Context<HttpEnv>, { bytes, type, etag }: Bytes): Response {
  const length = bytes.byteLength;
  c.header('accept-ranges', 'bytes');
  c.header('etag', etag);
  c.header('cache-control', 'no-store, no-transform'); // a range of a compressed body would be another one
  const range = rangeOf(c, etag);
  const part = range && within(range, length);
  if (range && !part) {
    c.header('content-range', `bytes */${length}`);
    throw new Refusal('range-unsatisfiable', 'Cannot answer with that range: the body ends before it');
  }
  if (part) c.header('content-range', `bytes ${part.first}-${part.last}/${length}`);
  const sent = part ? bytes.subarray(part.first, part.last + 1) : bytes;
  const head = { 'content-type': type, 'content-length': String(sent.byteLength) };
  const status = part ? 206 : 200;
  if (c.req.method === 'HEAD' || c.finalized) return c.body(null, status, head); // past the deadline a response was sent
  return c.body(chunked(c, sent), status, head);
}

/** Chunk by chunk as the reader takes them. `streamed` resolves with the last one, or when the reader leaves. */
function chunked(c: Context<HttpEnv>, bytes: Uint8Array): ReadableStream<Uint8Array> {
  let end = () => {};
  const streamed = new Promise<void>((resolve) => {
    end = resolve;
  });
  c.set('streamed', streamed);
  let at = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at < bytes.byteLength) controller.enqueue(bytes.slice(at, at + CHUNK_BYTES)); // a copy: the reader may take over its memory
      at += CHUNK_BYTES;
      if (at < bytes.byteLength) return;
      end();
      controller.close();
    },
    cancel: () => end(),
  });
}

/** `first` null: the last so many bytes. `last` null: up to the end. */
type ByteRange = { first: number; last: number | null } | { first: null; last: number };

/** Null: the whole is asked for. */
function rangeOf(c: Context, etag: string): ByteRange | null {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(c.req.header('range')?.trim() ?? '') ?? [];
  const condition = c.req.header('if-range');
  if (c.req.method !== 'GET' || (condition !== undefined && condition !== etag)) return null;
  if (first === '') return last === '' ? null : { first: null, last: Number(last) };
  if (last !== '' && Number(last) < Number(first)) return null;
  return { first: Number(first), last: last === '' ? null : Number(last) };
}

/** Null: no byte is in it. */
function within({ first, last }: ByteRange, length: number): { first: number; last: number } | null {
  const from = first ?? Math.max(0, length - (last ?? 0));
  const to = first === null || last === null ? length - 1 : Math.min(last, length - 1);
  return from <= to ? { first: from, last: to } : null;
}
