/** Fetches a cassette's OpenAPI document: one request to the path that its manifest names, with a deadline and a size limit. */
import { aborted } from '../../aborted.ts';
import { textOf } from '../admission/response-text.ts';
import { fetchUntil } from '../fetch-until.ts';
import { type AdmissionStep, Rejection, type RunningCassette } from '../running.ts';
import { MOST_DOCUMENT_BYTES } from './document.ts';

const DOCUMENT_MS = 10_000;

type DocumentOptions = {
  /** The step of the rejection when there is no document to be had. */
  step?: AdmissionStep;
  ms?: number;
  /** Cancels the request. */
  signal?: AbortSignal;
};

/** @param path one of the cassette's own, with query @throws {Rejection} */
export async function documentText(
  running: Pick<RunningCassette, 'fetch'>,
  path: string,
  { step = 'openapi', ms = DOCUMENT_MS, signal }: DocumentOptions = {},
): Promise<string> {
  const deadline = AbortSignal.timeout(ms);
  const end = signal ? AbortSignal.any([deadline, signal]) : deadline;
  const why = (error: Error) => (deadline.aborted ? `it took longer than ${ms / 1000} s` : error.message);
  const headers = { accept: 'application/json' };
  const response = await fetchUntil(running, path, { headers, signal: end }).catch((error: Error) => {
    throw new Rejection(step, `Cannot get its OpenAPI document at ${path}: ${why(error)}`);
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    const redirectNote = response.status >= 300 && response.status < 400 ? ', and redirects are not followed' : '';
    throw new Rejection(
      step,
      `Cannot get its OpenAPI document at ${path}: it answered ${response.status}${redirectNote}`,
    );
  }
  const unreadable = (reason: string) =>
    new Rejection('openapi', `Cannot read its OpenAPI document at ${path}: ${reason}`);
  const text = await Promise.race([textOf(response, MOST_DOCUMENT_BYTES), aborted(end)]).catch((error: Error) => {
    throw unreadable(why(error));
  });
  const encoding = encodingOf(response.headers);
  // the response of a fetch that is passed on is decoded, and still says how it came
  if (encoding !== null && !/^\uFEFF?\s*\{/.test(text))
    throw unreadable(`it came with content-encoding ${encoding}, which was not requested`);
  return text;
}

/** How the body is compressed, as its author may choose to say; null: it is not. The request accepts no compression. */
function encodingOf(headers: Headers): string | null {
  const encoding = headers.get('content-encoding')?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return null;
  return /^[\w-]{1,20}$/.test(encoding) ? `'${encoding}'` : 'of its own';
}
