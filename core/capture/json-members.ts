/** Which bytes are the members of a JSON object? So that a part of a body can be kept as it came, whatever stands in it. */
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
export type Range = { start: number; end: number };

/**
 * Where the values of an object's top-level members stand, at any depth below them; of a key that stands twice the last one, as JSON
 * readers see it. null: the body is no JSON object. The inside of the values is not looked at: whether it is JSON, parsing says.
 */
export function membersOf(body: Uint8Array): Map<string, Range> | null {
  const bytes = bufferOf(body);
  const members = new Map<string, Range>();
  let at = afterSpace(bytes, afterMark(bytes));
  if (bytes[at] !== OPEN_BRACE) return null;
  at = afterSpace(bytes, at + 1);
  while (bytes[at] !== CLOSE_BRACE) {
    if (members.size > 0) {
      if (bytes[at] !== COMMA) return null;
      at = afterSpace(bytes, at + 1);
    }
    const keyEnd = bytes[at] === QUOTE ? afterString(bytes, at) : -1;
    const key = keyEnd === -1 ? null : textOf(bytes, at, keyEnd);
    at = afterSpace(bytes, keyEnd);
    if (key === null || bytes[at] !== COLON) return null;
    const start = afterSpace(bytes, at + 1);
    const end = afterValue(bytes, start, bytes.length); // nothing nests deeper
    if (end === -1) return null;
    members.set(key, { start, end });
    at = afterSpace(bytes, end);
  }
  return afterSpace(bytes, at + 1) === bytes.length ? members : null;
}

/** The text of a JSON string; null when an escape in it is none. */
function textOf(bytes: Buffer, start: number, end: number): string | null {
  const text = bytes.toString('utf8', start + 1, end - 1);
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return null;
  }
}
