/** What the engine remembers of the calls that it takes in. */
import { type CallMemory, callMemory } from '../call/memory.ts';
import type { Reader } from '../call/reader.ts';
import { whenUnused } from './when-unused.ts';

const BODIES_UNUSED_MS = 60_000; // the next call of a conversation is cut anew after that

/** @returns `used`: to be called when calls have come. Once none has come for a minute, their bodies are dropped. */
export function openCallMemory(reader: Reader): { memory: CallMemory; used: () => void } {
  const memory = callMemory(reader);
  return { memory, used: whenUnused(BODIES_UNUSED_MS, () => memory.bodies.clear()) };
}
