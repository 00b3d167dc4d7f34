/** Makes a record of a line, which may be no JSON. */
import { bytesOf, type Line } from './transcript-source.ts';

const MAX_TEXT_BYTES = 1024 * 1024;

/** `is_cut`: something of the line is left out. */
export type LineRecord = { bytes: Buffer; is_cut: boolean };

/** A line that is no JSON, such as the last one of a writer that was killed, is sent as a text. */
export function recordOfLine(line: Line): LineRecord {
  const bytes = bytesOf(line);
  const is_cut = bytes !== line;
  if (isJson(bytes)) return { bytes, is_cut };
  const text = JSON.stringify(bytes.toString('utf8', 0, MAX_TEXT_BYTES));
  return { bytes: Buffer.from(text), is_cut: is_cut || bytes.length > MAX_TEXT_BYTES };
}

/** Whether it is does not depend on the characters beyond ASCII; as Latin-1 they are decoded several times as fast. */
function isJson(line: Buffer): boolean {
  try {
    JSON.parse(line.toString('latin1'));
    return true;
  } catch {
    return false;
  }
}
