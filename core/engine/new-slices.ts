/** Which slices of these turns are not stored yet? Most of a body is in the database since the call before. */
import { LRUCache } from 'lru-cache';
import { type PackedSlice, packedSlice } from '../capture/slice-codec.ts';
import type { Database } from '../db/database.ts';
import type { LooseSlice } from './prepare-exchange.ts';

const REMEMBERED = 100_000;

export type NewSlices = {
  /** What is neither remembered nor found in the database, packed. */
  packed(slices: Iterable<LooseSlice>): Promise<PackedSlice[]>;
  /** They are committed. */
  stored(slices: Iterable<LooseSlice>): void;
};

export function openNewSlices(database: Database): NewSlices {
  const known = new LRUCache<string, true>({ max: REMEMBERED });
  return {
    async packed(slices) {
      const wanted = new Map<string, Uint8Array>();
      for (const { slice_id, bytes } of slices) if (!known.has(slice_id)) wanted.set(slice_id, bytes);
      if (wanted.size === 0) return [];
      for (const slice_id of await database.ask('knownSlices', { ids: [...wanted.keys()] })) wanted.delete(slice_id);
      return [...wanted].map(([slice_id, bytes]) => packedSlice(slice_id, bytes));
    },
    stored(slices) {
      for (const { slice_id } of slices) known.set(slice_id, true);
    },
  };
}
