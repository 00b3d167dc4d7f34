/** Checks each slice as it is read: its bytes must be those that its id stands for. */
import { type PackedSlice, sliceId, unpackSlice } from '../../capture/slice-codec.ts';
import type { Database } from '../../db/database.ts';
import { openCachedSlices, type SliceBytes } from '../cached-slices.ts';

/** A slice that is missing, or whose bytes do not match its id. The message names the slice and never quotes its content. */
export class BadSlice extends Error {
  override readonly name = 'BadSlice';
  readonly slice_id: string;
  constructor(slice_id: string, reason: string) {
    super(`slice ${slice_id} ${reason}`);
    this.slice_id = slice_id;
  }
}

/** The bytes of slices in the order of the ids; an id may repeat. @throws {BadSlice} the first that is missing or does not match */
export type CheckedSlices = SliceBytes;

export function openCheckedSlices(database: Pick<Database, 'execute'>): CheckedSlices {
  return openCachedSlices(database, checked, (slice_id) => new BadSlice(slice_id, 'is not stored'));
}

/** For `turnBytes`. */
export const notHeaders = (slice_id: string): BadSlice => new BadSlice(slice_id, 'is no list of headers');

function checked(slice: PackedSlice): Uint8Array {
  const { slice_id, size_bytes } = slice;
  const bytes = unpacked(slice);
  if (!bytes) throw new BadSlice(slice_id, 'cannot be unpacked');
  if (sliceId(bytes) !== slice_id) throw new BadSlice(slice_id, 'does not hold the bytes that its id stands for');
  if (bytes.byteLength !== size_bytes)
    throw new BadSlice(slice_id, `is said to have ${size_bytes} bytes and has ${bytes.byteLength}`);
  return bytes;
}

function unpacked(slice: PackedSlice): Uint8Array | null {
  try {
    return unpackSlice(slice);
  } catch {
    return null; // brotli's own message may quote the bytes
  }
}
