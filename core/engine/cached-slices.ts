/** Reads slices in bounded batches. A conversation sends the same pieces again and again: the last ones used are cached. */
import { LRUCache } from 'lru-cache';
import type { PackedSlice } from '../capture/slice-codec.ts';
import type { Database } from '../db/database.ts';

/** The bytes of slices in the order of the ids; an id may repeat. */
export type SliceBytes = (ids: readonly string[]) => Promise<Uint8Array[]>;

const CACHE_BYTES = 32 * 1024 * 1024;
const QUERY_LIMIT = { ids: 4_096, bytes: 4 * 1024 * 1024 };

/** @param unpack makes the bytes of a stored slice @param missing makes the error that is thrown for a slice that is not stored */
export function openCachedSlices(
  { execute }: Pick<Database, 'execute'>,
  unpack: (slice: PackedSlice) => Uint8Array,
  missing: (slice_id: string) => Error,
): SliceBytes {
  const cache = new LRUCache<string, Uint8Array>({
    maxSize: CACHE_BYTES,
    sizeCalculation: ({ byteLength }) => byteLength + 200,
  });
  return async (ids) => {
    const found = new Map<string, Uint8Array>();
    const unread: string[] = [];
    for (const id of new Set(ids)) {
      const bytes = cache.get(id);
      if (bytes) found.set(id, bytes);
      else unread.push(id);
    }
    for (let from = 0; from < unread.length; ) {
      const wanted = unread.slice(from, from + QUERY_LIMIT.ids);
      const { covered, slices } = await execute('slicesUpTo', { ids: wanted, max_bytes: QUERY_LIMIT.bytes });
      for (const slice of slices) {
        const bytes = unpack(slice);
        found.set(slice.slice_id, bytes);
        cache.set(slice.slice_id, bytes);
      }
      from += covered;
    }
    return ids.map((id) => {
      const bytes = found.get(id);
      if (!bytes) throw missing(id);
      return bytes;
    });
  };
}
