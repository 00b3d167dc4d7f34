/** What is printed of a response: its body on standard output as it came, or a document of ours as JSON. */
import type { IncomingMessage } from 'node:http';
import type { Io } from './io.ts';

/** Ends with a line break. In bounded memory: on POSIX systems a write to standard output returns when it is done. */
export async function copyBody(body: IncomingMessage, { out }: Pick<Io, 'out'>): Promise<void> {
  let last = '\n';
  for await (const chunk of body.setEncoding('utf8')) {
    last = chunk as string;
    out(last);
  }
  if (!last.endsWith('\n')) out('\n');
}

/** A document for `--json`. */
export const printJson = (document: unknown, { out }: Pick<Io, 'out'>): void =>
  out(`${JSON.stringify(document, null, 2)}\n`);
