/**
 * Parses a database request of a cassette's process: a line of JSON, then the statement's text and its parameters as they are, one after
 * the other. Only the line is parsed as JSON: megabytes of JSON from a stranger would block the event loop. child/statement.mjs writes it.
 */
import { constants, type ServerHttp2Stream } from 'node:http2';

export type StatementRequest = { sql: string; parameters: (string | null)[]; options: object };

const MOST_CHARS = 8 * 1024 * 1024;
const HEAD_CHARS = 256 * 1024;

/** @throws {RangeError} it is too long @throws {Error} it cannot be read */
export async function statementOf(stream: ServerHttp2Stream): Promise<StatementRequest> {
  const text = await textOf(stream);
  const lineEnd = text.indexOf('\n');
  if (lineEnd > HEAD_CHARS)
    throw new RangeError(`it has too many parameters: their lengths take ${lineEnd} characters`);
  const { lengths, options } = headIn(text.slice(0, Math.max(0, lineEnd)));
  let at = lineEnd + 1;
  const [sql, ...parameters] = lengths.map((length) => {
    if (length === null) return null;
    at += length;
    return text.slice(at - length, at);
  });
  if (typeof sql !== 'string' || at !== text.length) throw new Error('Cannot read the statement');
  return { sql, parameters, options };
}

function headIn(line: string): { lengths: (number | null)[]; options: object } {
  const { lengths, options } = (JSON.parse(line) ?? {}) as { lengths?: unknown; options?: unknown };
  const isLength = (each: unknown) => each === null || (Number.isSafeInteger(each) && (each as number) >= 0);
  if (!Array.isArray(lengths) || !lengths.every(isLength) || typeof options !== 'object' || options === null)
    throw new Error('Cannot read the statement');
  return { lengths, options };
}

/** Decoded in chunks as they come, so that decoding never blocks the event loop for long. */
function textOf(stream: ServerHttp2Stream): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    let chars = 0;
    stream.setEncoding('utf8');
    stream.on('data', (chunk: string) => {
      chars += chunk.length;
      if (chars <= MOST_CHARS) {
        text += chunk;
        return;
      }
      text = '';
      reject(new RangeError(`it is longer than ${MOST_CHARS} characters`)); // the rest is read and discarded
    });
    stream.once('end', () => {
      if (stream.rstCode === constants.NGHTTP2_NO_ERROR && !stream.aborted) resolve(text);
    });
    const broken = () => reject(new Error('it broke off'));
    stream.once('error', broken);
    stream.once('close', broken);
  });
}
