/** Requests that an agent causes to a cassette: with a deadline, and with limits on what the cassette answers. */
import { aborted } from '../../aborted.ts';
import { Refusal } from '../../errors.ts';
import { isObject, parseJson } from '../../parse-json.ts';

export const LATE_MS = 30_000;
const MOST_BYTES = 8 * 1024 * 1024;
const MOST_ERROR_BYTES = 4096;

/** @throws {Refusal} the cassette could not be called */
export type SendRequest = (name: string, request: Request) => Promise<Response>;

export type CassetteCall = {
  /** Installed name. */
  cassette: string;
  /** One of the cassette's own paths, with a query. */
  path: string;
  init?: RequestInit;
  /** What an agent wants of it, such as `call notes_find`; refusals begin with it. */
  what: string;
};

export type CassetteAnswer = { bytes: Buffer; contentType: string };

export type Limits = { send: SendRequest; signal: AbortSignal; lateMs: number };

/**
 * @param lateMs the deadline for a complete response
 * @throws {Refusal} cassette-broken, with a sentence for the agent; its cause is the status of the response, if one came
 */
export async function cassetteAnswer(
  { cassette, path, init, what }: CassetteCall,
  { send, signal, lateMs }: Limits,
): Promise<CassetteAnswer> {
  const timeout = AbortSignal.timeout(lateMs);
  const stopSignal = AbortSignal.any([signal, timeout]);
  const ended = aborted(stopSignal);
  ended.catch(() => {}); // it may reject when nobody waits any more
  try {
    const request = new Request(`http://cassette${path}`, { ...init, signal: stopSignal });
    return await Promise.race([wholeAnswer(cassette, request, send), ended]);
  } catch (error) {
    const reason = timeout.aborted
      ? `${cassette} did not answer within ${lateMs / 1000} s`
      : signal.aborted
        ? 'the caller left'
        : error instanceof Refusal
          ? error.message.replace(/^Cannot answer: /, '')
          : `the answer of ${cassette} broke off`;
    throw new Refusal('cassette-broken', `Cannot ${what}: ${reason}`, { cause: (error as Error).cause });
  }
}

/** Whether the cassette has answered 404. */
export const isUnknown = (error: unknown): boolean => error instanceof Refusal && error.cause === 404;

/** The answer as a JSON object. @throws {Refusal} cassette-broken */
export function jsonObject({ bytes }: CassetteAnswer, { cassette, what }: CassetteCall): Record<string, unknown> {
  const json = parsed(bytes.toString('utf8'));
  if (isObject(json)) return json;
  const problem = json === undefined ? 'what is no JSON' : 'JSON that is no object';
  throw new Refusal('cassette-broken', `Cannot ${what}: ${cassette} answered with ${problem}`);
}

/** @throws {Refusal} its message says what is wrong with the response */
async function wholeAnswer(cassette: string, request: Request, send: SendRequest): Promise<CassetteAnswer> {
  const response = await send(cassette, request);
  const badResponse = (problem: string) =>
    new Refusal('cassette-broken', `${cassette} answered ${problem}`, { cause: response.status });
  if (!response.ok) throw badResponse(`${response.status}${await errorText(response)}`);
  const { bytes, more } = await firstBytes(response, MOST_BYTES);
  if (more) throw badResponse(`with more than ${MOST_BYTES / 1024 / 1024} MiB`);
  return { bytes, contentType: response.headers.get('content-type') ?? '' };
}

const parsed = (text: string): unknown => {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
};

async function errorText(response: Response): Promise<string> {
  const { bytes } = await firstBytes(response, MOST_ERROR_BYTES);
  const text = new TextDecoder().decode(bytes, { stream: true }).trim(); // a character that was cut is left out
  return text === '' ? '' : `: ${text}`;
}

async function firstBytes({ body }: Response, most: number): Promise<{ bytes: Buffer; more: boolean }> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    length += chunk.byteLength;
    if (length > most) break; // cancels the rest
  }
  return { bytes: Buffer.concat(chunks).subarray(0, most), more: length > most };
}
