/** The byte ranges of the members of a JSON object, so that a part of a body can be stored as it came, whatever it holds. */
import {
  afterMark,
  afterSpace,
  afterString,
  afterValue,
  bufferOf,
  CLOSE_BRACE,
  COLON,
  COMMA,
  OPEN_BRACE,
  QUOTE,
} from './json-scan.ts';

/** Of a value's bytes in the body, without the white space around it. */
export type ValueRange = { start: number; end: number };

/**
 * The ranges of the values of an object's top-level members, however deep these nest; of a repeated key the last one, as for JSON
 * parsers. null: the body is no JSON object. The inside of the values is not checked: whether it is JSON shows only when it is parsed.
 * @param most so many members are read, and what follows them is not
 */
export function membersOf(body: Uint8Array, most = Number.POSITIVE_INFINITY): Map<string, ValueRange> | null {
  const bytes = bufferOf(body);
  const members = new Map<string, ValueRange>();
  let at = afterSpace(bytes, afterMark(bytes));
  if (bytes[at] !== OPEN_BRACE) return null;
  at = afterSpace(bytes, at + 1);
  for (let count = 0; bytes[at] !== CLOSE_BRACE; count++) {
    if (count === most) return members;
    if (count > 0) {
      if (bytes[at] !== COMMA) return null;
      at = afterSpace(bytes, at + 1);
    }
    const keyEnd = bytes[at] === QUOTE ? afterString(bytes, at) : -1;
    const key = keyEnd === -1 ? null : textOf(bytes, at, keyEnd);
    at = afterSpace(bytes, keyEnd);
    if (key === null || bytes[at] !== COLON) return null;
    const start = afterSpace(bytes, at + 1);
    const end = afterValue(bytes, start, bytes.length); // no value nests deeper
    if (end === -1) return null;
    members.set(key, { start, end });
    at = afterSpace(bytes, end);
  }
  return afterSpace(bytes, at + 1) === bytes.length ? members : null;
}

/** The text of a JSON string; null when it has an invalid escape. */
function textOf(bytes: Buffer, start: number, end: number): string | null {
  const text = bytes.toString('utf8', start + 1, end - 1);
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return null;
  }
}
