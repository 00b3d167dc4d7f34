/** How is V8 asked to look for dead memory earlier than it would by itself? For those who know that they leave much of it behind. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Absent: all of this thread's memory, in some 50 ms. `minor`: what is young, in 1 to 2 ms. (Any other object is read as `minor` by V8 11.) */
export type Collect = (how?: { type: 'minor' }) => void;

/** V8 hands out its collector to contexts that are made under this flag; ours is older, so one is made for that. */
export function collector(): Collect {
  setFlagsFromString('--expose-gc');
  const given: unknown = runInNewContext("typeof gc === 'function' ? gc : null");
  setFlagsFromString('--no-expose-gc');
  return typeof given === 'function' ? (given as Collect) : () => {};
}

type Options = {
  /** Less than this at once is not counted: ordinary work never waits for a collection of ours. */
  large: number;
  /** Of what was counted, for a collection of all of this thread's memory. */
  enough: number;
  /** Then it is done so much later, and no more often. */
  afterMs: number;
};

/**
 * What large values leave behind V8 would keep for long: while they were alive it learnt that this thread needs so much, and lets as much
 * gather again before it looks. @returns to be told of each such value, in bytes or characters, when it is dead or soon will be
 */
export function leftBehind({ large, enough, afterMs }: Options): (size: number) => void {
  let collect: Collect | undefined;
  let since = 0;
  let due = false;
  return (size) => {
    if (size >= large) since += size;
    if (due || since < enough) return;
    due = true;
    setTimeout(() => {
      due = false;
      since = 0;
      collect ??= collector();
      collect();
    }, afterMs).unref();
  };
}
