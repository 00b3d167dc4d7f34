/** Caches of what was read before. They save work and change no result. */
import { LRUCache } from 'lru-cache';
import { lruCache } from '../lru-cache.ts';
import type { Message, MessageRole } from '../model/bucket.ts';
import type { LinkedMessage } from '../model/node.ts';
import type { LatestCut } from './open-request.ts';
import { builtIn, type Reader } from './reader.ts';

/**
 * Of messages. `messages` by (format, parent, slices): the same objects are returned, so nothing is hashed twice. `recent`
 * are the latest messages by slice, `roles` those of slices, and `texts` the system prompts of calls.
 */
export type ReadingMemory = {
  messages: LRUCache<string, LinkedMessage>;
  roles: LRUCache<string, MessageRole>;
  recent: LRUCache<string, Message>;
  texts: LRUCache<string, string>;
};

export const readingMemory = (messages = 50_000): ReadingMemory => ({
  messages: lruCache(messages),
  roles: lruCache(messages),
  recent: new LRUCache({ max: 256, maxSize: 8_388_608 }),
  texts: new LRUCache({ max: 64, maxSize: 8_388_608, sizeCalculation: (text) => 2 * text.length + 1 }),
});

/** Of the calls that one part of the service takes in. `bodies`: the latest of each thread, with which the next has most in common. */
export type CallMemory = {
  reader: Reader;
  readings: ReadingMemory;
  bodies: LRUCache<string, LatestCut>;
};

const PIECE_BYTES = 200; // of memory, for a piece and its id

export const callMemory = (reader: Reader = builtIn): CallMemory => ({
  reader,
  readings: readingMemory(),
  // As many as there may be conversations at a time: one that is dropped before its next call helped nobody.
  bodies: new LRUCache({
    max: 1024,
    maxSize: 67_108_864,
    sizeCalculation: ({ body, pieces }) => body.byteLength + PIECE_BYTES * pieces.length + 1,
  }),
});
