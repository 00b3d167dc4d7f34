/** Reports progress to the service: one report at a time; of those made meanwhile only the last is sent. Twin of ../../progress.ts. */

const PAUSE_MS = 100;

/** @param {(json: string) => import('node:http2').ClientHttp2Stream} send */
export function teller(send) {
  /** @type {string | undefined} */
  let waiting;
  let busy = false;

  const next = () => {
    busy = waiting !== undefined;
    if (waiting === undefined) return;
    const stream = send(waiting);
    waiting = undefined;
    stream.on('error', () => {}); // the channel broke, which ends this process
    stream.once('close', () => setTimeout(next, PAUSE_MS));
    stream.resume();
  };

  return (/** @type {any} */ items) => {
    const { done, pending, failed } = items ?? {};
    if (![done, pending, failed].every((count) => Number.isSafeInteger(count) && count >= 0))
      throw new TypeError('Cannot tell its progress: done, pending and failed must be whole numbers from 0 on');
    waiting = JSON.stringify({ done, pending, failed });
    if (!busy) next();
  };
}
