/**
 * Garbage collection while a large body passes. Each chunk leaves two dead buffers behind: the bytes as they were read, and Node's copy of
 * them without the framing. V8 collects these only at 32 MB, and while it frees them as many again are made; so for a large body a
 * collection is requested earlier. That costs no speed: memory just freed is used again, where fresh memory would have to be allocated.
 */
import { collect } from '../core/collect-garbage.ts';

const SWEEP_BYTES = 4_194_304; // ordinary calls stay below it and never wait for a collection of ours

/** Returns a function to call with each chunk of one body: it collects young garbage (1 to 2 ms) after each 4 MiB. */
export function sweeping(): (bytes: Buffer) => void {
  let bytesSince = 0;
  return ({ length }) => {
    bytesSince += length;
    if (bytesSince < SWEEP_BYTES) return;
    bytesSince = 0;
    collect({ type: 'minor' });
  };
}
