/** Sends a request to a running cassette and waits for its response until a signal aborts. */
import { aborted } from '../aborted.ts';
import type { RunningCassette } from './running.ts';

/**
 * The signal itself ends the wait. Node's Request follows it by a weak reference: where only a cassette that never answers has the request,
 * the request may be collected with all that waits for it, and its own signal never aborts.
 * @param path one of the cassette's own, with query
 * @throws the signal's reason, or what the cassette's fetch throws
 */
export const fetchUntil = (
  running: Pick<RunningCassette, 'fetch'>,
  path: string,
  init: RequestInit & { signal: AbortSignal },
): Promise<Response> =>
  Promise.race([running.fetch(new Request(`http://cassette${path}`, init)), aborted(init.signal)]);
