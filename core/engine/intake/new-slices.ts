/** Finds which slices of some turns are not stored yet. Most of a body has been in the database since the call before. */
import { LRUCache } from 'lru-cache';
import type { LooseSlice } from '../../call/complete-turn.ts';
import { type PackedSlice, packedSlice } from '../../capture/slice-codec.ts';
import type { Database } from '../../db/database.ts';
import { PURGED_MEANWHILE } from '../../db/store/purge-count.ts';
import { DatabaseError } from '../../errors.ts';

const CACHE_SIZE = 100_000;

/** The slices not stored yet. The others are stored while the count of purges is this one; undefined: no slice was left out. */
export type FreshSlices = { slices: PackedSlice[]; purges: number | undefined };

export type NewSlices = {
  /**
   * Passes to `store`, packed, the slices that are neither cached nor found in the database. Where a purge has happened meanwhile, the
   * cache is cleared and `store` is called once more: nothing may ever refer to a slice that was deleted.
   */
  storing<T>(slices: readonly LooseSlice[], store: (fresh: FreshSlices) => Promise<T>): Promise<T>;
  /** Reports that the slices are committed. */
  stored(slices: Iterable<LooseSlice>): void;
};

export function openNewSlices(database: Database): NewSlices {
  const known = new LRUCache<string, true>({ max: CACHE_SIZE });
  let purgesSeen: number | undefined; // the count of purges at which all in `known` was found stored

  const packed = async (slices: readonly LooseSlice[]): Promise<FreshSlices> => {
    const wanted = new Map<string, Uint8Array>();
    for (const { slice_id, bytes } of slices) if (!known.has(slice_id)) wanted.set(slice_id, bytes);
    if (wanted.size === 0) return { slices: [], purges: purgesSeen };
    const found = await database.execute('knownSlices', { ids: [...wanted.keys()] });
    if (found.purges !== purgesSeen) {
      const forgotten = known.size > 0;
      known.clear();
      purgesSeen = found.purges;
      if (forgotten) return packed(slices);
    }
    for (const slice_id of found.known) wanted.delete(slice_id);
    return { slices: [...wanted].map(([slice_id, bytes]) => packedSlice(slice_id, bytes)), purges: purgesSeen };
  };

  return {
    async storing(slices, store) {
      for (;;) {
        try {
          return await store(await packed(slices));
        } catch (error) {
          if (!(error instanceof DatabaseError && error.sqlstate === PURGED_MEANWHILE)) throw error;
          known.clear();
          purgesSeen = undefined;
        }
      }
    },
    stored(slices) {
      for (const { slice_id } of slices) known.set(slice_id, true);
    },
  };
}
