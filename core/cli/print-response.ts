/** What is printed of a response: its body on standard output as it came, or a document of ours as JSON. */
import type { IncomingMessage } from 'node:http';
import type { Io } from './io.ts';
import { cutOr } from './response-body.ts';

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

/** A document for `--json`. */
export const printJson = (document: unknown, { out }: Pick<Io, 'out'>): void =>
  out(`${JSON.stringify(document, null, 2)}\n`);
