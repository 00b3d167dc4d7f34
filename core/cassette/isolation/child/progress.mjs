// @ts-check
/** Progress of a cassette's background work: parsed wherever it is reported, and sent from a process of its own one report at a time. */

/** @typedef {import('../../contract.ts').Progress} Progress */

const PAUSE_MS = 100;

export const NO_PROGRESS = 'Cannot tell its progress: done, pending and failed must be whole numbers from 0 on';

/**
 * Only exact whole numbers are accepted.
 * @param {unknown} input
 * @returns {Progress}
 * @throws {TypeError} it is no valid progress
 */
export function progressOf(input) {
  const { done, pending, failed } = /** @type {Partial<Record<keyof Progress, unknown>>} */ (input ?? {});
  if (isCount(done) && isCount(pending) && isCount(failed)) return { done, pending, failed };
  throw new TypeError(NO_PROGRESS);
}

/**
 * @param {unknown} value
 * @returns {value is number}
 */
const isCount = (value) => Number.isSafeInteger(value) && Number(value) >= 0;

/**
 * Reports to the service: of the reports that are made while one is under way only the last is sent.
 * @param {(json: string) => import('node:http2').ClientHttp2Stream} send
 * @returns {(items: unknown) => void}
 */
export function progressReporter(send) {
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

  return (items) => {
    waiting = JSON.stringify(progressOf(items));
    if (!busy) next();
  };
}
