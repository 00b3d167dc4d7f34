/** Reads the records in the body of a transcript upload, one by one, so that nothing in one of them affects the others. */
import { elementsOf } from '../../capture/json-elements.ts';
import { membersOf, type ValueRange } from '../../capture/json-members.ts';
import { afterValue, bufferOf } from '../../capture/json-scan.ts';
import { type Fields, parseForeign } from '../../provider/json.ts';
import { bodyText } from '../../provider/sse.ts';

/** The range of each member, and all of them parsed, except for the elements of `records`. */
export type UploadBody = { members: ReadonlyMap<string, ValueRange>; document: Fields };

/** null: the body is no JSON object. The records are not read yet. */
export function uploadBody(body: Uint8Array): UploadBody | null {
  const members = membersOf(body);
  if (!members) return null;
  const records = members.get('records');
  const hasArray = records && body[records.start] === 0x5b;
  const text = hasArray
    ? `${bodyText(body.subarray(0, records.start))}[]${bodyText(body.subarray(records.end))}`
    : bodyText(body);
  try {
    return { members, document: parseForeign(text) as Fields };
  } catch {
    return null; // the parser's own message quotes the text
  }
}

/** Deeper ones would overflow the stack of the code that reads them. */
const MAX_DEPTH = 512;

/**
 * The records in order. One that is nested too deep is returned as its text.
 * @throws {Unreadable} or {SyntaxError} when it is not a JSON array, once reading reaches the error
 */
export function* recordsIn(body: Uint8Array, { members }: UploadBody): Generator<unknown> {
  const array = members.get('records');
  if (!array) return;
  const bytes = bufferOf(body);
  for (const { start, end } of elementsOf(body, array)) {
    const text = bytes.toString('utf8', start, end);
    const record = parseForeign(text);
    yield typeof record === 'object' && afterValue(bytes, start, MAX_DEPTH) === -1 ? text : record;
  }
}
