/** Makes a record of a line, which may be no JSON, or longer than the ingest API takes. */
import type { Line } from './transcript-source.ts';

/** A longer record is sent without its longest texts, as an image in base64: beside it, a body has to have room for a part. */
const MAX_RECORD_BYTES = 8 * 1024 * 1024;
const MAX_TEXT_BYTES = 1024 * 1024;
const KEPT_CHARACTERS = 1_024;

/** `is_cut`: something of the line is left out. */
export type LineRecord = { bytes: Buffer; is_cut: boolean };

/** A line that is no JSON, such as the last one of a writer that was killed, is sent as a text. */
export function recordOfLine(line: Line): LineRecord {
  if (typeof line === 'number') return { bytes: leftOut(line), is_cut: true };
  const value = parsed(line);
  if (value === undefined) {
    const text = JSON.stringify(line.toString('utf8', 0, MAX_TEXT_BYTES));
    return { bytes: Buffer.from(text), is_cut: line.length > MAX_TEXT_BYTES };
  }
  if (line.length <= MAX_RECORD_BYTES) return { bytes: line, is_cut: false };
  const bytes = Buffer.from(JSON.stringify(value.json, shortened));
  return { bytes: bytes.length <= MAX_RECORD_BYTES ? bytes : leftOut(line.length), is_cut: true };
}

const leftOut = (bytes: number) => Buffer.from(JSON.stringify(`[svc sync left out a line of ${bytes} bytes]`));

const shortened = (_key: string, value: unknown): unknown =>
  typeof value === 'string' && value.length > 16 * KEPT_CHARACTERS
    ? `${value.slice(0, KEPT_CHARACTERS)} [svc sync left out ${value.length - KEPT_CHARACTERS} characters]`
    : value;

function parsed(line: Buffer): { json: unknown } | undefined {
  try {
    // Whether it is JSON does not depend on the characters beyond ASCII; as Latin-1 they are decoded several times as fast.
    const isShort = line.length <= MAX_RECORD_BYTES;
    return { json: JSON.parse(isShort ? line.toString('latin1') : line.toString('utf8')) as unknown };
  } catch {
    return undefined;
  }
}
