/**
 * What becomes of the memory of a large body that has passed? Each piece leaves two dead buffers behind, the bytes as they were read and
 * Node's copy of them without the framing. V8 looks for such only at 32 MB, and while it frees those as many again come to be; so for
 * a large body it is asked to look earlier. That costs no speed: memory just freed is used again, which fresh memory has to be made for.
 */
import { type Collect, collector } from '../core/collect-garbage.ts';

const SWEEP_BYTES = 4_194_304; // ordinary calls stay below it and never wait for a collection of ours

let collect: Collect | null = null;

/** For one body: hears of each of its pieces, and collects young garbage (1 to 2 ms) after each 4 MiB of it. */
export function sweeping(): (bytes: Buffer) => void {
  let since = 0;
  return ({ length }) => {
    since += length;
    if (since < SWEEP_BYTES) return;
    since = 0;
    collect ??= collector();
    collect({ type: 'minor' });
  };
}
