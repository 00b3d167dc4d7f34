/** Raw turns as JSON: bytes as text where they are UTF-8, else in base64; in chunks, at most one record's bytes at a time. */
import { isUtf8 } from 'node:buffer';
import { StringDecoder } from 'node:string_decoder';
import { bufferOf } from '../capture/json-scan.ts';
import { joined, type RawTurnBytes } from '../db/read/raw-turn-bytes.ts';
import type { RawTurnStream } from '../db/read/raw-turn-stream.ts';
import { contentCoding, type HeaderList } from '../model/headers.ts';
import type { RawTurnHead } from '../model/raw-turn.ts';

export type TurnPayload = RawTurnBytes | RawTurnStream;

/** `{items: [RawTurn], next_cursor?}` */
export async function* rawTurnDocument(
  heads: readonly RawTurnHead[],
  next_cursor: string | null,
  bytesOf: ((raw_turn_id: number) => Promise<TurnPayload | null>) | null,
): AsyncGenerator<string, void> {
  yield '{"items":[';
  for (const [index, head] of heads.entries()) {
    if (index > 0) yield ',';
    const payload = bytesOf && (await bytesOf(head.raw_turn_id));
    if (!payload) {
      yield JSON.stringify(head); // no bytes requested, or purged since the page was read
      continue;
    }
    yield `${JSON.stringify(head).slice(0, -1)},"payload":{"request":`;
    yield* messageText(payload.request, payload.request_headers);
    if (payload.response_headers) {
      yield ',"response":';
      yield* messageText(payload.response ?? new Uint8Array(), payload.response_headers);
    }
    yield '}}';
  }
  yield next_cursor === null ? ']}' : `],"next_cursor":${JSON.stringify(next_cursor)}}`;
}

/** A content-encoded body is base64 even where it happens to be UTF-8, so that a reader need not guess. */
async function* messageText(
  body: Uint8Array | AsyncIterable<Uint8Array>,
  headers: HeaderList,
): AsyncGenerator<string, void> {
  const coding = contentCoding(headers);
  const encoding = coding === null ? '' : `,"content_encoding":${JSON.stringify(coding)}`;
  const bytes = body instanceof Uint8Array || coding === null ? body : await wholeOf(body);
  const text = coding === null && (!(bytes instanceof Uint8Array) || isUtf8(bytes));
  yield `{"headers":${JSON.stringify(headers)}${encoding},"encoding":"${text ? 'utf-8' : 'base64'}","body":"`;
  if (bytes instanceof Uint8Array) yield* text ? utf8Text([bytes]) : base64Text(bytes);
  else yield* utf8Text(bytes);
  yield '"}';
}

const CHUNK_BYTES = 48 * 1024; // a multiple of 3, so that base64 chunks can be joined

function* base64Text(bytes: Uint8Array): Generator<string, void> {
  const buffer = bufferOf(bytes);
  for (let at = 0; at < buffer.length; at += CHUNK_BYTES)
    yield buffer.toString('base64', at, Math.min(at + CHUNK_BYTES, buffer.length));
}

/** The content of a JSON string, of bytes that are UTF-8; a character may begin in one part and end in the next. A byte order mark is kept. */
async function* utf8Text(parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new StringDecoder('utf8');
  for await (const part of parts) {
    for (let at = 0; at < part.byteLength; at += CHUNK_BYTES)
      yield JSON.stringify(decoder.write(bufferOf(part).subarray(at, at + CHUNK_BYTES))).slice(1, -1);
  }
}

async function wholeOf(parts: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const part of parts) all.push(part);
  return joined(all);
}
