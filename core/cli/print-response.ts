/** What is printed of a response: its body on standard output as it came, or a document of ours as JSON. */
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { OperatorError } from '../errors.ts';
import type { Io } from './io.ts';

/**
 * Ends with a line break. In bounded memory: on POSIX systems a write to standard output returns when it is done.
 * @param what it is for, as the end of 'Cannot …' @throws {OperatorError} it was cut
 */
export async function copyBody(body: IncomingMessage, { out }: Pick<Io, 'out'>, what: string): Promise<void> {
  let last = '\n';
  try {
    for await (const chunk of body.setEncoding('utf8')) {
      last = chunk as string;
      out(last);
    }
  } catch (error) {
    throw cutOr(error, what);
  }
  if (!last.endsWith('\n')) out('\n');
}

/** The whole of it. @param what as above @throws {OperatorError} it was cut */
export const bodyText = (body: IncomingMessage, what: string): Promise<string> =>
  text(body).catch((error: unknown) => {
    throw cutOr(error, what);
  });

/** What a command says of a response that ended before its end; the error itself where it is another. */
export function cutOr(error: unknown, what: string): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  const isCut = code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE' || message === 'aborted';
  if (!isCut) return error;
  const why = "the service broke it off; its log says why ('svc status' shows what is wrong)";
  return new OperatorError(`Cannot ${what}: ${why}`, 1, { cause: error });
}

/** A document for `--json`. */
export const printJson = (document: unknown, { out }: Pick<Io, 'out'>): void =>
  out(`${JSON.stringify(document, null, 2)}\n`);
