/** Are the bytes that lie under an id those that the id stands for? Read in bounded pieces, each slice checked when it is read. */
import { LRUCache } from 'lru-cache';
import { type PackedSlice, sliceId, unpackSlice } from '../capture/slice-codec.ts';
import type { Database } from '../db/database.ts';

/** A slice that is gone, or is not what its id says. The message says which, and never what it holds. */
export class BadSlice extends Error {
  override readonly name = 'BadSlice';
  readonly slice_id: string;
  constructor(slice_id: string, why: string) {
    super(`slice ${slice_id} ${why}`);
    this.slice_id = slice_id;
  }
}

/** The bytes of slices in the order asked; an id may repeat. @throws {BadSlice} the first that is not as it should be */
export type CheckedSlices = (ids: readonly string[]) => Promise<Uint8Array[]>;

const REMEMBERED_BYTES = 32 * 1024 * 1024;
const AT_ONCE = { ids: 512, bytes: 4 * 1024 * 1024 };

/** A conversation sends the same pieces again and again: the last ones used are kept, so that each is read about once. */
export function openCheckedSlices({ execute }: Pick<Database, 'execute'>): CheckedSlices {
  const remembered = new LRUCache<string, Uint8Array>({
    maxSize: REMEMBERED_BYTES,
    sizeCalculation: ({ byteLength }) => byteLength + 200,
  });
  return async (ids) => {
    const found = new Map<string, Uint8Array>();
    const missing: string[] = [];
    for (const id of new Set(ids)) {
      const bytes = remembered.get(id);
      if (bytes) found.set(id, bytes);
      else missing.push(id);
    }
    for (let from = 0; from < missing.length; ) {
      const wanted = missing.slice(from, from + AT_ONCE.ids);
      const { asked, slices } = await execute('slicesUpTo', { ids: wanted, max_bytes: AT_ONCE.bytes });
      for (const slice of slices) {
        const bytes = checked(slice);
        found.set(slice.slice_id, bytes);
        remembered.set(slice.slice_id, bytes);
      }
      from += asked;
    }
    return ids.map((id) => {
      const bytes = found.get(id);
      if (!bytes) throw new BadSlice(id, 'is not stored');
      return bytes;
    });
  };
}

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
    return null; // brotli's own words may quote what it met
  }
}
