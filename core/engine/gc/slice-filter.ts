/**
 * The set of slices that are referred to, in bounded memory: a Bloom filter. It may take a slice for one of them that is not, which then
 * stays until a later collection, whose filter has another seed; it never misses one that was added.
 */
import { getRandomValues } from 'node:crypto';

export type SliceFilter = {
  /** @param ids of 32 bytes each, one after the other */
  add(ids: Uint8Array): void;
  /** Those of the ids, in hex, that were not added. */
  others(ids: Uint8Array): string[];
};

const ID_BYTES = 32;
const PROBES = 7;
const BITS_PER_ID = 16; // with 7 probes one slice in 1,400 is mistaken
const BYTES = { min: 1024 * 1024, max: 256 * 1024 * 1024 };

/** @param expected how many ids will be added, about */
export function openSliceFilter(expected: number): SliceFilter {
  const wanted = Math.min(BYTES.max, Math.max(BYTES.min, (expected * BITS_PER_ID) / 8));
  const bits = new Uint8Array(2 ** Math.ceil(Math.log2(wanted)));
  const mask = bits.byteLength * 8 - 1;
  const seeds = getRandomValues(new Uint32Array(PROBES)).map((seed) => seed | 1);

  /** An id is a hash: each of its words is random, and a word times an odd number is a permutation of it. */
  const probes = (id: DataView, visit: (byte: number, bit: number) => boolean) => {
    for (let i = 0; i < PROBES; i++) {
      const word = Math.imul(id.getUint32(i * 4), seeds[i] ?? 1);
      const place = (word ^ (word >>> 15)) & mask;
      if (!visit(place >>> 3, 1 << (place & 7))) return false;
    }
    return true;
  };
  const each = (ids: Uint8Array, visit: (id: DataView, at: number) => void) => {
    for (let at = 0; at < ids.byteLength; at += ID_BYTES)
      visit(new DataView(ids.buffer, ids.byteOffset + at, ID_BYTES), at);
  };
  return {
    add: (ids) =>
      each(ids, (id) => {
        probes(id, (byte, bit) => {
          bits[byte] = (bits[byte] ?? 0) | bit;
          return true;
        });
      }),
    others: (ids) => {
      const found: string[] = [];
      each(ids, (id, at) => {
        if (!probes(id, (byte, bit) => ((bits[byte] ?? 0) & bit) !== 0))
          found.push(Buffer.from(ids.buffer, ids.byteOffset + at, ID_BYTES).toString('hex'));
      });
      return found;
    },
  };
}
