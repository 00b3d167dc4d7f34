/** Requests to the read API: with the token, with quiet retries, and with at most three large reads at once. */
import { hrefOf } from '../base.ts';
import { anotherToken, token } from '../store/token.ts';
import { inTurn } from './payload-turns.ts';
import { ProblemError, problemOf } from './problem-error.ts';

const RETRY_PAUSES_MS = [500, 1_500];

export type RequestOptions = {
  method?: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** Sent as JSON. */
  body?: unknown;
  signal?: AbortSignal | undefined;
  /** The answer holds texts of spans or turns: the service reads few of those at once. */
  payload?: boolean;
};

/** The JSON of an answer. @throws {ProblemError} when the service refuses or is not reached */
export async function request<T>(path: string, options: RequestOptions = {}): Promise<T> {
  const response = await send(path, options, { accept: 'application/json' });
  return (response.status === 204 ? undefined : await whole(response.json())) as T;
}

/** The bytes of an answer. @param range the value of the header `range`, as `bytes=0-99` @throws {ProblemError} */
export async function readBytes(
  path: string,
  { range, signal }: { range?: string; signal?: AbortSignal } = {},
): Promise<{ bytes: Uint8Array<ArrayBuffer>; headers: Headers }> {
  const response = await send(path, { signal, payload: true }, range === undefined ? {} : { range });
  return { bytes: new Uint8Array(await whole(response.arrayBuffer())), headers: response.headers };
}

/** An answer whose body the caller reads. @throws {ProblemError} */
export function send(path: string, options: RequestOptions, headers: Record<string, string> = {}): Promise<Response> {
  const attempt = () => sendWithRetries(path, options, headers);
  return options.payload ? inTurn(attempt, options.signal) : attempt();
}

async function sendWithRetries(path: string, options: RequestOptions, headers: Record<string, string>) {
  for (let attempt = 0; ; attempt += 1) {
    const used = token.value;
    const response = await sendOnce(path, options, headers, used);
    if (response.ok) return response;
    const error = await problemOf(response);
    if (response.status === 401 && (await anotherToken(used))) continue;
    const pause = RETRY_PAUSES_MS[attempt];
    const mayRepeat = (response.status === 503 || response.status === 504) && (options.method ?? 'GET') === 'GET';
    if (!mayRepeat || pause === undefined) throw error;
    await sleep(pause, options.signal);
  }
}

async function sendOnce(
  path: string,
  { method = 'GET', body, signal }: RequestOptions,
  headers: Record<string, string>,
  bearer: string | null,
): Promise<Response> {
  try {
    return await fetch(hrefOf(path), {
      method,
      headers: {
        ...headers,
        ...(bearer !== null && { authorization: `Bearer ${bearer}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  } catch (error) {
    throw unreached(error);
  }
}

/** A body that breaks off is an error in words too. */
export const whole = <T>(body: Promise<T>): Promise<T> =>
  body.catch((error: unknown) => {
    throw unreached(error);
  });

const unreached = (error: unknown): unknown =>
  isAbort(error)
    ? error
    : new ProblemError(0, 'unreached', 'The service cannot be reached, or its answer broke off', '');

/** Whether the page itself gave the request up, which is no error to show. */
export const isAbort = (error: unknown): boolean => error instanceof DOMException && error.name === 'AbortError';

const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
