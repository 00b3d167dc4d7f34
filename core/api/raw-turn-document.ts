/** Raw turns as JSON: bytes as text where they are UTF-8, else in base64; in chunks, one record's bytes at a time. */
import { isUtf8 } from 'node:buffer';
import type { RawTurnBytes } from '../db/read/raw-turn-bytes.ts';
import { contentCoding, type HeaderList } from '../model/headers.ts';
import type { RawTurnHead } from '../model/raw-turn.ts';

/** `{items: [RawTurn], next_cursor?}` */
export async function* rawTurnDocument(
  heads: readonly RawTurnHead[],
  next_cursor: string | null,
  bytesOf: ((raw_turn_id: number) => Promise<RawTurnBytes | null>) | null,
): AsyncGenerator<string, void> {
  yield '{"items":[';
  for (const [index, head] of heads.entries()) {
    if (index > 0) yield ',';
    const turnBytes = bytesOf && (await bytesOf(head.raw_turn_id));
    if (!turnBytes) {
      yield JSON.stringify(head); // no bytes requested, or purged since the page was read
      continue;
    }
    yield `${JSON.stringify(head).slice(0, -1)},"payload":{"request":`;
    yield* messageText(turnBytes.request, turnBytes.request_headers);
    if (turnBytes.response_headers) {
      yield ',"response":';
      yield* messageText(turnBytes.response ?? new Uint8Array(), turnBytes.response_headers);
    }
    yield '}}';
  }
  yield next_cursor === null ? ']}' : `],"next_cursor":${JSON.stringify(next_cursor)}}`;
}

/** A content-encoded body is base64 even where it happens to be UTF-8, so that a reader need not guess. */
function* messageText(bytes: Uint8Array, headers: HeaderList): Generator<string, void> {
  const coding = contentCoding(headers);
  const encoding = coding === null ? '' : `,"content_encoding":${JSON.stringify(coding)}`;
  const text = coding === null && isUtf8(bytes);
  yield `{"headers":${JSON.stringify(headers)}${encoding},"encoding":"${text ? 'utf-8' : 'base64'}","body":"`;
  yield* text ? utf8Text(bytes) : base64Text(bytes);
  yield '"}';
}

const CHUNK_BYTES = 48 * 1024; // a multiple of 3, so that base64 chunks can be joined

function* base64Text(bytes: Uint8Array): Generator<string, void> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < buffer.length; at += CHUNK_BYTES)
    yield buffer.toString('base64', at, Math.min(at + CHUNK_BYTES, buffer.length));
}

/** The content of a JSON string. Chunks end where a character ends; a byte order mark is kept. */
function* utf8Text(bytes: Uint8Array): Generator<string, void> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < buffer.length; ) {
    let end = Math.min(at + CHUNK_BYTES, buffer.length);
    while (end < buffer.length && ((buffer[end] ?? 0) & 0xc0) === 0x80) end--; // not within a character
    yield JSON.stringify(buffer.toString('utf8', at, end)).slice(1, -1);
    at = end;
  }
}
