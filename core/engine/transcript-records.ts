/** Which records does the body of a transcript upload hold? Read one by one, so that nothing in one of them costs the others. */
import { elementsOf } from '../capture/json-elements.ts';
import { membersOf, type Range } from '../capture/json-members.ts';
import { afterValue, bufferOf } from '../capture/json-scan.ts';
import { type Fields, parseForeign } from '../provider/json.ts';
import { bodyText } from '../provider/sse.ts';

/** Where each member stands, and all of them parsed, but for the elements of `records`. */
export type UploadBody = { members: ReadonlyMap<string, Range>; document: Fields };

/** null: the body is no JSON object. The records are not looked at yet. */
export function uploadBody(body: Uint8Array): UploadBody | null {
  const members = membersOf(body);
  if (!members) return null;
  const records = members.get('records');
  const hides = records && body[records.start] === 0x5b;
  const text = hides
    ? `${bodyText(body.subarray(0, records.start))}[]${bodyText(body.subarray(records.end))}`
    : bodyText(body);
  try {
    return { members, document: parseForeign(text) as Fields };
  } catch {
    return null; // the parser's own words quote the text
  }
}

/** Deeper ones would overflow the stack of what reads them. */
const DEEPEST = 512;

/**
 * In order. One that is nested too deep comes as the text that it is.
 * @throws {Unreadable} or {SyntaxError} when it is not a JSON array, told as far as it has been read
 */
export function* recordsIn(body: Uint8Array, { members }: UploadBody): Generator<unknown> {
  const array = members.get('records');
  if (!array) return;
  const bytes = bufferOf(body);
  for (const { start, end } of elementsOf(body, array)) {
    const text = bytes.toString('utf8', start, end);
    const record = parseForeign(text);
    yield typeof record === 'object' && afterValue(bytes, start, DEEPEST) === -1 ? text : record;
  }
}
