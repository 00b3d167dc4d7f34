/** Makes V8 collect garbage earlier than it would by itself, for callers that know that they leave much of it behind. */

/**
 * Without options: all of this thread's memory, in some 50 ms. `minor`: the young generation, in 1 to 2 ms. (V8 11 reads any object as `minor`.)
 * Does nothing in a process that was started without `gc` (service-flags.ts): there V8 collects when it has to.
 */
export function collect(options?: { type: 'minor' }): void {
  if (options) globalThis.gc?.(options);
  else globalThis.gc?.();
}

const V8 = Number(process.versions.v8.split('.')[0]);

/**
 * All that V8 can give back of this thread's memory, the room of its young generation too, which on Node 24 grows to 128 MB; in 50 to 300 ms.
 * V8 11 does not know the flavor: there a debugger's command does the same, of which the first run frees what the second gives back.
 */
export async function collectAvailable(): Promise<void> {
  if (V8 >= 12) return globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  if (!globalThis.gc) return;
  globalThis.gc();
  for (let n = 0; n < 2; n += 1) await collectAsDebugger();
}

/**
 * As V8 does when memory is short (https://chromedevtools.github.io/devtools-protocol/tot/HeapProfiler/#method-collectGarbage). `gc` empties
 * half-empty pages only as fast as V8 once measured that it could, and after a measurement on a busy machine not at all.
 */
async function collectAsDebugger(): Promise<void> {
  const { Session } = await import('node:inspector');
  const session = new Session();
  session.connect();
  try {
    await new Promise<void>((done) => session.post('HeapProfiler.collectGarbage', () => done()));
  } finally {
    session.disconnect();
  }
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
  let garbage = 0;
  let scheduled = false;
  return (size) => {
    if (size >= large) garbage += size;
    if (scheduled || garbage < enough) return;
    scheduled = true;
    setTimeout(() => {
      scheduled = false;
      garbage = 0;
      collect();
    }, afterMs).unref();
  };
}
