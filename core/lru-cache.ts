/** A cache of the entries used last, which takes memory as it fills. */
import { LRUCache } from 'lru-cache';

/**
 * At most so many entries; the one not used for longest goes first.
 *
 * Given as a size and not as `max`, for which lru-cache fills arrays at once: 25 ms for 100,000 entries, however few there will be.
 */
export const lruCache = <Key extends {}, Value extends {}>(entries: number): LRUCache<Key, Value> =>
  new LRUCache({ maxSize: entries, sizeCalculation: () => 1 });
