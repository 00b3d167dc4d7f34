/** Finds which slices of some turns are not stored yet. Most of a body has been in the database since the call before. */

import type { LooseSlice } from '../../call/complete-turn.ts';
import { type Effort, type PackedSlice, packedElsewhere } from '../../capture/slice-codec.ts';
import type { Database } from '../../db/database.ts';
import { PURGED_MEANWHILE } from '../../db/store/purge-count.ts';
import { DatabaseError } from '../../errors.ts';
import { lruCache } from '../../lru-cache.ts';
import { UNUSED_MS } from '../call-memory.ts';
import { whenUnused } from '../when-unused.ts';

const CACHE_SIZE = 100_000;
/** After so many refusals all slices are sent, which no purge can refuse: purges may follow each other closely. */
const REFUSALS_BEFORE_ALL = 3;

/** The slices not stored yet. The others are stored while the count of purges is this one; undefined: no slice was left out. */
export type FreshSlices = { slices: PackedSlice[]; purges: string | undefined };

export type NewSlices = {
  /**
   * Passes to `store`, packed, the slices that are neither cached nor found in the database, and caches them once they are stored. Where a
   * purge has happened meanwhile, the cache is cleared and `store` is called again: nothing may ever refer to a slice that was deleted.
   * Any number of these may be under way.
   * @param wroteAny whether the slices were stored: not where all that refers to them was there already
   */
  storing<T>(
    slices: readonly LooseSlice[],
    store: (fresh: FreshSlices) => Promise<T>,
    wroteAny?: (result: T) => boolean,
  ): Promise<T>;
};

export function openNewSlices(database: Database, effort: Effort = 'usual', unusedMs = UNUSED_MS): NewSlices {
  const known = lruCache<string, true>(CACHE_SIZE);
  let purgesSeen: string | undefined; // the count of purges at which all in `known` was found stored

  const forget = (purges: string | undefined) => {
    known.clear();
    purgesSeen = purges;
  };

  const used = whenUnused(unusedMs, () => forget(undefined));

  const packed = async (slices: readonly LooseSlice[]): Promise<FreshSlices> => {
    const purges = purgesSeen;
    const wanted = new Map<string, Uint8Array>();
    for (const { slice_id, bytes } of slices) if (!known.has(slice_id)) wanted.set(slice_id, bytes);
    if (wanted.size === 0) return { slices: [], purges };
    const found = await database.execute('knownSlices', { ids: [...wanted.keys()] });
    if (found.purges !== purgesSeen) forget(found.purges);
    // What was left out above was known at another count. Another caller may have noticed before this one.
    if (found.purges !== purges && slices.some(({ slice_id }) => !wanted.has(slice_id))) return packed(slices);
    for (const slice_id of found.known) wanted.delete(slice_id);
    const packing = [...wanted].map(([slice_id, bytes]) => packedElsewhere(slice_id, bytes, effort));
    return { slices: await Promise.all(packing), purges: found.purges };
  };

  /** No count is compared with this: so it is stored also where reads and writes go to different servers, whose counts never agree. */
  const allPacked = async (slices: readonly LooseSlice[]): Promise<FreshSlices> => {
    const distinct = new Map(slices.map(({ slice_id, bytes }) => [slice_id, bytes]));
    const packing = [...distinct].map(([slice_id, bytes]) => packedElsewhere(slice_id, bytes, effort));
    return { slices: await Promise.all(packing), purges: undefined };
  };

  return {
    async storing(slices, store, wroteAny = () => true) {
      for (let refusals = 0; ; refusals++) {
        used();
        if (refusals === REFUSALS_BEFORE_ALL) return store(await allPacked(slices));
        try {
          const fresh = await packed(slices);
          const result = await store(fresh);
          if (fresh.purges === purgesSeen && wroteAny(result))
            for (const { slice_id } of slices) known.set(slice_id, true);
          return result;
        } catch (error) {
          if (!(error instanceof DatabaseError && error.sqlstate === PURGED_MEANWHILE)) throw error;
          forget(undefined);
        }
      }
    },
  };
}
