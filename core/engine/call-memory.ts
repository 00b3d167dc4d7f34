/** What the engine remembers of the calls that it takes in, as long as calls come. */
import { type CallMemory, callMemory } from '../call/memory.ts';
import type { Reader } from '../call/reader.ts';
import { whenUnused } from './when-unused.ts';

/**
 * For so long what was read for a conversation is kept though no call comes: a person reads and answers meanwhile. The first call after
 * that is read as if it were the conversation's first.
 */
export const UNUSED_MS = 180_000;

/** @returns `used`: to be called when calls have come */
export function openCallMemory(reader: Reader, unusedMs = UNUSED_MS): { memory: CallMemory; used: () => void } {
  const memory = callMemory(reader);
  const { bodies, readings } = memory;
  const caches = [bodies, readings.messages, readings.roles, readings.recent, readings.texts];
  const used = whenUnused(unusedMs, () => {
    for (const cache of caches) cache.clear();
  });
  return { memory, used };
}
