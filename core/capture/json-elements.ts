/** The byte ranges of the elements of a JSON array, so that each can be read by itself, whatever the others hold. */
import { Unreadable } from '../provider/format.ts';
import type { ValueRange } from './json-members.ts';
import { afterSpace, afterValue, bufferOf, CLOSE_BRACKET, COMMA, OPEN_BRACKET } from './json-scan.ts';

/**
 * In order, without the white space and the commas between them. Whether an element is valid JSON shows only when it is parsed.
 * @param array its range in the body. @throws {Unreadable} when it is no array, or torn
 */
export function* elementsOf(body: Uint8Array, array: ValueRange): Generator<ValueRange> {
  const bytes = bufferOf(body.subarray(0, array.end));
  let at = afterSpace(bytes, array.start);
  if (bytes[at] !== OPEN_BRACKET) throw torn();
  at = afterSpace(bytes, at + 1);
  for (let first = true; bytes[at] !== CLOSE_BRACKET; first = false) {
    if (!first) {
      if (bytes[at] !== COMMA) throw torn();
      at = afterSpace(bytes, at + 1);
    }
    const end = afterValue(bytes, at, bytes.length); // no value nests deeper
    if (end === -1) throw torn();
    yield { start: at, end };
    at = afterSpace(bytes, end);
  }
  if (at + 1 !== bytes.length) throw torn();
}

const torn = () => new Unreadable('Cannot read the body: it is not JSON');
