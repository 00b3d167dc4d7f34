/** Reads slices in bounded batches and checks each one as it is read: its bytes must be those that its id stands for. */
import { LRUCache } from 'lru-cache';
import { type PackedSlice, sliceId, unpackSlice } from '../../capture/slice-codec.ts';
import type { Database } from '../../db/database.ts';

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
export type CheckedSlices = (ids: readonly string[]) => Promise<Uint8Array[]>;

const CACHE_BYTES = 32 * 1024 * 1024;
const QUERY_LIMIT = { ids: 512, bytes: 4 * 1024 * 1024 };

/** A conversation sends the same pieces again and again: the last ones used are cached, so that each is read about once. */
export function openCheckedSlices({ execute }: Pick<Database, 'execute'>): CheckedSlices {
  const cache = new LRUCache<string, Uint8Array>({
    maxSize: CACHE_BYTES,
    sizeCalculation: ({ byteLength }) => byteLength + 200,
  });
  return async (ids) => {
    const found = new Map<string, Uint8Array>();
    const missing: string[] = [];
    for (const id of new Set(ids)) {
      const bytes = cache.get(id);
      if (bytes) found.set(id, bytes);
      else missing.push(id);
    }
    for (let from = 0; from < missing.length; ) {
      const wanted = missing.slice(from, from + QUERY_LIMIT.ids);
      const { covered, slices } = await execute('slicesUpTo', { ids: wanted, max_bytes: QUERY_LIMIT.bytes });
      for (const slice of slices) {
        const bytes = checked(slice);
        found.set(slice.slice_id, bytes);
        cache.set(slice.slice_id, bytes);
      }
      from += covered;
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
    return null; // brotli's own message may quote the bytes
  }
}
