/** What is printed of a response: its body on standard output, or a document of ours as JSON. On a terminal none of it drives that. */
import type { IncomingMessage } from 'node:http';
import type { Io } from './io.ts';
import { cutOr } from './response-body.ts';
import { plainLines } from './units.ts';

type Printed = Pick<Io, 'out' | 'isTerminal'>;

/**
 * As it came; on a terminal JSON with more escapes, and other text without what drives that. Ends with a line break. In bounded memory: on
 * POSIX systems a write to standard output returns when it is done.
 * @param what it is for, as the end of 'Cannot …' @throws {OperatorError} it was cut
 */
export async function copyBody(
  body: IncomingMessage,
  { out, isTerminal = false }: Printed,
  what: string,
): Promise<void> {
  let last = '\n';
  try {
    for await (const text of isTerminal ? terminalTexts(body) : body.setEncoding('utf8')) {
      last = text as string;
      out(last);
    }
  } catch (error) {
    throw cutOr(error, what);
  }
  if (!last.endsWith('\n')) out('\n');
}

/** A document for `--json`. */
export const printJson = (document: unknown, io: Printed): void => io.out(jsonText(document, io, 2));

/** The text of a document, with a line break. @param indent blanks for each level; 0: in one line */
export function jsonText(document: unknown, { isTerminal = false }: Pick<Io, 'isTerminal'>, indent = 0): string {
  const json = JSON.stringify(document, null, indent);
  return `${isTerminal ? terminalJson(json) : json}\n`;
}

/** The text of a response's body, chunk by chunk, made safe for a terminal. */
export async function* terminalTexts(body: IncomingMessage): AsyncGenerator<string, void> {
  const isJson = /json/.test(body.headers['content-type'] ?? '');
  let ending = '';
  for await (const chunk of body.setEncoding('utf8')) {
    const text = ending + chunk;
    ending = text.endsWith('\r') ? '\r' : ''; // with what follows it may be one line break
    yield shown(text.slice(0, text.length - ending.length), isJson);
  }
  if (ending !== '') yield '\n';
}

const shown = (text: string, isJson: boolean): string => (isJson ? terminalJson(text) : plainLines(text).join('\n'));

/** The same document. JSON escapes below U+0020 only, but a terminal obeys U+009B as it does ESC [, and the others hide or turn text. */
const terminalJson = (json: string): string =>
  json.replace(/\r\n?/g, '\n').replace(/[^\P{Cc}\t\n]|(?![\u200c\u200d])[\p{Cf}\p{Zl}\p{Zp}]/gu, escaped);

const escaped = (character: string): string =>
  character
    .split('') // by UTF-16 units, as JSON escapes them
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
