/** How is a cassette asked for its document? Once, with a deadline and a bound, and where it says that it is. */
import { aborted } from '../aborted.ts';
import { MOST_DOCUMENT_BYTES } from './document.ts';
import { type AdmissionStep, Rejection, type RunningCassette } from './running.ts';
import { textOf } from './text-of.ts';

const DOCUMENT_MS = 10_000;

type Asking = {
  /** Where it fails when there is none to be had. */
  step?: AdmissionStep;
  ms?: number;
  /** It is wanted no more. */
  signal?: AbortSignal;
};

/** @param path its own, with query @throws {Rejection} */
export async function documentText(
  running: Pick<RunningCassette, 'fetch'>,
  path: string,
  { step = 'openapi', ms = DOCUMENT_MS, signal }: Asking = {},
): Promise<string> {
  const late = AbortSignal.timeout(ms);
  const request = new Request(`http://cassette${path}`, {
    headers: { accept: 'application/json' },
    signal: signal ? AbortSignal.any([late, signal]) : late,
  });
  const why = (error: Error) => (late.aborted ? `it took longer than ${ms / 1000} s` : error.message);
  const response = await Promise.race([running.fetch(request), aborted(request.signal)]).catch((error: Error) => {
    throw new Rejection(step, `Cannot get its OpenAPI document at ${path}: ${why(error)}`);
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    const elsewhere = response.status >= 300 && response.status < 400 ? ', and redirects are not followed' : '';
    throw new Rejection(step, `Cannot get its OpenAPI document at ${path}: it answered ${response.status}${elsewhere}`);
  }
  const text = Promise.race([textOf(response, MOST_DOCUMENT_BYTES), aborted(request.signal)]);
  return text.catch((error: Error) => {
    throw new Rejection('openapi', `Cannot read its OpenAPI document at ${path}: ${why(error)}`);
  });
}
