/** Reads a response's body to its end; one that is cut is reported in a sentence. */
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { OperatorError } from '../errors.ts';
import { parseJson } from '../parse-json.ts';

/** The whole of it. @param what it is for, as the end of 'Cannot …' @throws {OperatorError} it was cut */
export const bodyText = (body: IncomingMessage, what: string): Promise<string> =>
  text(body).catch((error: unknown) => {
    throw cutOr(error, what);
  });

/** The JSON of a body; undefined: it is none, such as the page of a gateway in between. */
export function jsonIn(body: string): unknown {
  try {
    return parseJson(body);
  } catch {
    return undefined;
  }
}

/** What a command says of a response that ended before its end; the error itself where it is another. */
export function cutOr(error: unknown, what: string): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  const isCut = code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE' || message === 'aborted';
  if (!isCut) return error;
  const why = "the service broke it off; its log says why ('svc status' shows what is wrong)";
  return new OperatorError(`Cannot ${what}: ${why}`, 1, { cause: error });
}
