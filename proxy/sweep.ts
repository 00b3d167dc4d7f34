/**
 * What becomes of the memory of a large body that has passed? Each piece leaves two dead buffers behind, the bytes as they were read and
 * Node's copy of them without the framing. V8 looks for such only at 32 MB, and while it frees those as many again come to be; so for
 * a large body it is asked to look earlier. That costs no speed: memory just freed is used again, which fresh memory has to be made for.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const SWEEP_BYTES = 4_194_304; // ordinary calls stay below it and never wait for a collection of ours

type Collect = (how: { type: 'minor' }) => void;

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

/** V8 hands out its collector to contexts that are made under this flag; ours is older, so one is made for that. */
function collector(): Collect {
  setFlagsFromString('--expose-gc');
  const given: unknown = runInNewContext("typeof gc === 'function' ? gc : null");
  setFlagsFromString('--no-expose-gc');
  return typeof given === 'function' ? (given as Collect) : () => {};
}
