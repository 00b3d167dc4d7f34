/** The appending of records to the journal's blocks, as far as there is room for them in memory and on the disk. */
import { addRecord, BLOCK_BYTES, type Blocks } from './journal-blocks.ts';
import { MAX_PAYLOAD_BYTES, RECORD_HEADER_BYTES, type RecordKind } from './journal-record.ts';

export const CLOSED_RESERVE_BYTES = 512; // reserved for each open call, so that its end always finds room

export type Appending = {
  blocks: Blocks;
  maxBytes: number; // of all runs on disk
  pendingBytes: number; // in memory and not yet on disk
  openCalls: number;
  onDisk(): number; // bytes
  added(): void; // called after each record
  full(): void; // called where the disk's share has no room
  reportError(message: string): void;
};

/** @param reserve how far the bytes may exceed the caps; negative: how much of the caps they must leave */
function hasRoom(journal: Appending, bytes: number, reserve = 0): boolean {
  const { blocks, maxBytes, pendingBytes, openCalls } = journal;
  const fitsMemory = blocks.pending + bytes <= pendingBytes + reserve;
  const isWithinDisk = () =>
    journal.onDisk() + blocks.pending + openCalls * CLOSED_RESERVE_BYTES + bytes <= maxBytes + reserve;
  if (!isWithinDisk()) journal.full(); // which may find that there is room again
  const fitsDisk = isWithinDisk();
  if (!fitsDisk) {
    journal.reportError('Cannot keep all copies: the journal is full');
  } else if (!fitsMemory)
    journal.reportError('Cannot keep all copies: calls bring more than the disk takes at the moment');
  return fitsMemory && fitsDisk;
}

function append(
  journal: Appending,
  kind: RecordKind,
  call: number,
  payload: Uint8Array | string,
  payloadBytes: number,
): void {
  addRecord(journal.blocks, kind, call, payload, payloadBytes);
  journal.added();
}

/** @returns false when there is no room for it */
export function appendJson(
  journal: Appending,
  kind: RecordKind,
  call: number,
  value: unknown,
  reserve: number,
): boolean {
  const text = JSON.stringify(value);
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_PAYLOAD_BYTES || !hasRoom(journal, RECORD_HEADER_BYTES + bytes, reserve)) return false;
  append(journal, kind, call, text, bytes);
  return true;
}

/** For a record whose room has been reserved. */
export function appendReserved(journal: Appending, kind: RecordKind, call: number, value: unknown): void {
  const text = JSON.stringify(value);
  append(journal, kind, call, text, Buffer.byteLength(text));
}

/** @returns false when there is no room for all of it; then none of it is appended */
export function appendChunk(journal: Appending, kind: RecordKind, call: number, chunk: Uint8Array): boolean {
  const maxPayload = BLOCK_BYTES - RECORD_HEADER_BYTES;
  if (!hasRoom(journal, chunk.byteLength + Math.ceil(chunk.byteLength / maxPayload) * RECORD_HEADER_BYTES))
    return false;
  for (let at = 0; at < chunk.byteLength; at += maxPayload) {
    const piece = chunk.byteLength <= maxPayload ? chunk : chunk.subarray(at, at + maxPayload);
    append(journal, kind, call, piece, piece.byteLength);
  }
  return true;
}
