/** Makes V8 collect garbage earlier than it would by itself, for callers that know that they leave much of it behind. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Without options: all of this thread's memory, in some 50 ms. `minor`: the young generation, in 1 to 2 ms. (V8 11 reads any object as `minor`.) */
export type Collect = (options?: { type: 'minor' }) => void;

/** V8 exposes `gc` only to contexts that are made under this flag. The main context is older, so a new one is made to get it. */
export function collector(): Collect {
  setFlagsFromString('--expose-gc');
  const gc: unknown = runInNewContext("typeof gc === 'function' ? gc : null");
  setFlagsFromString('--no-expose-gc');
  return typeof gc === 'function' ? (gc as Collect) : () => {};
}

type Options = {
  /** A smaller value is not counted, so that ordinary work never waits for a forced collection. */
  large: number;
  /** The counted sum that triggers a collection of all of this thread's memory. */
  enough: number;
  /** The delay before that collection; also the least time between two. */
  afterMs: number;
};

/**
 * Collects what large values leave behind. V8 alone would keep it for long: from the values' lifetime it has learnt a large heap limit, and it
 * collects only near that limit. @returns a function to call with each such value's size (bytes or characters) once it is dead or soon will be
 */
export function collectAfterLarge({ large, enough, afterMs }: Options): (size: number) => void {
  let collect: Collect | undefined;
  let garbage = 0;
  let scheduled = false;
  return (size) => {
    if (size >= large) garbage += size;
    if (scheduled || garbage < enough) return;
    scheduled = true;
    setTimeout(() => {
      scheduled = false;
      garbage = 0;
      collect ??= collector();
      collect();
    }, afterMs).unref();
  };
}
