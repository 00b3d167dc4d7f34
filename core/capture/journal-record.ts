/**
 * The format of a record in a segment file on disk, version 1; all numbers are unsigned and little-endian.
 *
 *     segment = magic, record*
 *     magic   = "SVCJRNL", u8 version (1)                  8 bytes
 *     record  = u32 length of the payload                  at 0
 *               u32 crc                                    at 4
 *               u8  kind                                   at 8
 *               u64 number of the call within its run      at 9; 0 where there is none
 *               payload                                    at 17
 *
 * The crc is zlib's CRC-32 over kind, number and payload, begun from the length instead of from 0, so that it covers all four.
 *
 * | kind | name | payload |
 * | --- | --- | --- |
 * | 1 | opened | JSON `CallOpened` |
 * | 2 | requestBytes | bytes of the request's body |
 * | 3 | responseHead | JSON `ResponseHead` |
 * | 4 | responseBytes | bytes of the response's body |
 * | 5 | closed | JSON `CallClosed` |
 * | 6 | counted | JSON `OutcomeRecord`; number 0 |
 * | 7 | continues | JSON `Continues`; number 0; the first record of every segment and of no other place |
 *
 * A run's segments are numbered from 1, `<run_id>/00000001.seg`; a record never crosses from one into the next. A failed write is
 * repeated in a new segment, and may have left whole records behind; so `continues` names the last valid position before it: the
 * segment and the offset. Everything between that position and the new segment is void.
 */
import { crc32 } from 'node:zlib';
import { z } from 'zod';

export const KIND = {
  opened: 1,
  requestBytes: 2,
  responseHead: 3,
  responseBytes: 4,
  closed: 5,
  counted: 6,
  continues: 7,
} as const;
export type RecordKind = (typeof KIND)[keyof typeof KIND];

export const MAGIC: Uint8Array = Buffer.from('SVCJRNL\x01', 'latin1');
export const RECORD_HEADER_BYTES = 17;

/** No record is longer. A larger length is treated as damage. */
export const MAX_PAYLOAD_BYTES = 16_777_216;

/**
 * The last valid position before a segment; segment 0 before the first one that was ever written. `carried`: the segment was made out
 * of itself and all before it, which are void. (journal-carry.ts)
 */
export const Continues = z.object({
  segment: z.int().min(0),
  byte_offset: z.int().min(0),
  carried: z.boolean().optional(),
});
export type Continues = z.infer<typeof Continues>;

/** A record found in a buffer; the indexes are into that buffer. */
export type RecordHead = { kind: RecordKind; call: number; payload_at: number; end: number };

/**
 * Writes the header of a record whose payload is already 17 bytes behind `at`. `sealRecords` adds the crc.
 * @returns the index behind the record
 */
export function beginRecord(block: Buffer, at: number, kind: RecordKind, call: number, payloadBytes: number): number {
  block.writeUInt32LE(payloadBytes, at);
  block[at + 8] = kind;
  block.writeUInt32LE(call % 0x1_0000_0000, at + 9);
  block.writeUInt32LE(Math.floor(call / 0x1_0000_0000), at + 13);
  return at + RECORD_HEADER_BYTES + payloadBytes;
}

/** Writes the crc of each record from `at` to `end`: many at a time, since one in the middle of other work costs twice as much. */
export function sealRecords(block: Buffer, at: number, end: number): void {
  while (at < end) {
    const payloadBytes = block.readUInt32LE(at);
    const next = at + RECORD_HEADER_BYTES + payloadBytes;
    block.writeUInt32LE(crc32(block.subarray(at + 8, next), payloadBytes), at + 4);
    at = next;
  }
}

/** One whole record in a buffer of its own. */
export function recordOf(kind: RecordKind, call: number, payload: Uint8Array): Buffer {
  const record = Buffer.allocUnsafe(RECORD_HEADER_BYTES + payload.byteLength);
  record.set(payload, RECORD_HEADER_BYTES);
  sealRecords(record, 0, beginRecord(record, 0, kind, call, payload.byteLength));
  return record;
}

/** The record's bytes as its header at `at` states them, header included; null when the header is incomplete or the length invalid. */
export function recordBytesAt(bytes: Buffer, at: number, end: number): number | null {
  if (at + RECORD_HEADER_BYTES > end) return null;
  const length = bytes.readUInt32LE(at);
  return length > MAX_PAYLOAD_BYTES ? null : RECORD_HEADER_BYTES + length;
}

/** The record at `at` of a buffer filled up to `end`. `short`: it goes on behind the end. `damaged`: there is no valid record. */
export function recordAt(bytes: Buffer, at: number, end: number): RecordHead | 'short' | 'damaged' {
  if (at + RECORD_HEADER_BYTES > end) return 'short';
  const size = recordBytesAt(bytes, at, end);
  const kind = bytes[at + 8] as RecordKind;
  if (size === null || kind < KIND.opened || kind > KIND.continues) return 'damaged';
  if (at + size > end) return 'short';
  const crc = crc32(bytes.subarray(at + 8, at + size), size - RECORD_HEADER_BYTES);
  if (crc !== bytes.readUInt32LE(at + 4)) return 'damaged';
  const call = bytes.readUInt32LE(at + 9) + bytes.readUInt32LE(at + 13) * 0x1_0000_0000;
  return { kind, call, payload_at: at + RECORD_HEADER_BYTES, end: at + size };
}

/** What kind of file begins with these bytes. `torn`: the file ends within the magic. */
export function magicOf(bytes: Uint8Array): 'ours' | 'torn' | 'other-version' | 'foreign' {
  const same = (count: number) => Buffer.compare(bytes.subarray(0, count), MAGIC.subarray(0, count)) === 0;
  if (bytes.byteLength < MAGIC.byteLength) return same(bytes.byteLength) ? 'torn' : 'foreign';
  if (same(MAGIC.byteLength)) return 'ours';
  return same(MAGIC.byteLength - 1) ? 'other-version' : 'foreign';
}
