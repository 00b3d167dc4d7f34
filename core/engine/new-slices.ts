/** Which slices of these turns are not stored yet? Most of a body is in the database since the call before. */
import { LRUCache } from 'lru-cache';
import { type PackedSlice, packedSlice } from '../capture/slice-codec.ts';
import type { Database } from '../db/database.ts';
import { PURGED_MEANWHILE } from '../db/store/purge-count.ts';
import { DatabaseError } from '../errors.ts';
import type { LooseSlice } from './prepare-exchange.ts';

const REMEMBERED = 100_000;

/** What is not stored. The rest is, for as long as the count of purges is this one; undefined: nothing was left out. */
export type FreshSlices = { slices: PackedSlice[]; purges: number | undefined };

export type NewSlices = {
  /**
   * Hands on, packed, what is neither remembered nor found in the database. Where a purge has come between, all that was
   * remembered is forgotten and `store` is asked once more: nothing may ever refer to a slice that is gone.
   */
  storing<T>(slices: readonly LooseSlice[], store: (fresh: FreshSlices) => Promise<T>): Promise<T>;
  /** They are committed. */
  stored(slices: Iterable<LooseSlice>): void;
};

export function openNewSlices(database: Database): NewSlices {
  const known = new LRUCache<string, true>({ max: REMEMBERED });
  let under: number | undefined; // the count of purges under which all that is known was learnt

  const packed = async (slices: readonly LooseSlice[]): Promise<FreshSlices> => {
    const wanted = new Map<string, Uint8Array>();
    for (const { slice_id, bytes } of slices) if (!known.has(slice_id)) wanted.set(slice_id, bytes);
    if (wanted.size === 0) return { slices: [], purges: under };
    const found = await database.execute('knownSlices', { ids: [...wanted.keys()] });
    if (found.purges !== under) {
      const forgotten = known.size > 0;
      known.clear();
      under = found.purges;
      if (forgotten) return packed(slices);
    }
    for (const slice_id of found.known) wanted.delete(slice_id);
    return { slices: [...wanted].map(([slice_id, bytes]) => packedSlice(slice_id, bytes)), purges: under };
  };

  return {
    async storing(slices, store) {
      for (;;) {
        try {
          return await store(await packed(slices));
        } catch (error) {
          if (!(error instanceof DatabaseError && error.sqlstate === PURGED_MEANWHILE)) throw error;
          known.clear();
          under = undefined;
        }
      }
    },
    stored(slices) {
      for (const { slice_id } of slices) known.set(slice_id, true);
    },
  };
}
