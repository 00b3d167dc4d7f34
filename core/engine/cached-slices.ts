/** Reads slices in bounded batches. A conversation sends the same pieces again and again: the last ones used are cached. */
import { LRUCache } from 'lru-cache';
import { type PackedSlice, unpackSlice } from '../capture/slice-codec.ts';
import type { Database } from '../db/database.ts';
import { missingSlice } from '../db/read/raw-turn-bytes.ts';
import { openYielder } from './yielder.ts';

/**
 * The bytes of slices in the order of the ids; an id may repeat. Where some have to be read, those of `ahead` are read along and cached, as
 * far as the query holds them: whoever will need them next does not wait for a query of its own.
 */
export type SliceBytes = (ids: readonly string[], ahead?: readonly string[]) => Promise<Uint8Array[]>;

const CACHE_BYTES = 32 * 1024 * 1024;
const QUERY_LIMIT = { ids: 4_096, bytes: 4 * 1024 * 1024 };

/** The slices as they are stored, unchecked. @throws {Error} one is not stored */
export const openStoredSlices = (database: Pick<Database, 'execute'>): SliceBytes =>
  openCachedSlices(database, unpackSlice, missingSlice);

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
  const unpackAhead = (slice: PackedSlice): void => {
    try {
      cache.set(slice.slice_id, unpack(slice));
    } catch {} // it is read once more, and fails, where it is needed
  };
  return async (ids, ahead = []) => {
    const found = new Map<string, Uint8Array>();
    const unread = new Set<string>();
    for (const id of new Set(ids)) {
      const bytes = cache.get(id);
      if (bytes) found.set(id, bytes);
      else unread.add(id);
    }
    const needed = unread.size;
    if (needed > 0) for (const id of ahead) if (!found.has(id) && !cache.has(id)) unread.add(id);
    const inOrder = [...unread];
    const yieldThread = openYielder();
    for (let from = 0; from < needed; ) {
      const wanted = inOrder.slice(from, from + QUERY_LIMIT.ids);
      const { covered, slices } = await execute('slicesUpTo', { ids: wanted, max_bytes: QUERY_LIMIT.bytes });
      const own = new Set(inOrder.slice(from, needed));
      for (const slice of slices) {
        await yieldThread();
        if (!own.has(slice.slice_id)) {
          unpackAhead(slice);
          continue;
        }
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
