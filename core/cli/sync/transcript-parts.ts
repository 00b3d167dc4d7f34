/** Cuts a transcript into the parts in which it is sent: the same for the same lines, so that what was sent once is recognised. */
import { createHash } from 'node:crypto';
import { bytesOf, type Line } from './transcript-source.ts';

/** A part is complete with the line that brings it to this size. */
const PART_BYTES = 2 * 1024 * 1024;
/** A line that would bring it beyond this begins the next one: a body of the ingest API holds some 15 MB. */
const MAX_PART_BYTES = 8 * 1024 * 1024;

/** `bytes` of the file. The hashes, in hex, are of the file up to the part, null of the first, and through its last line. */
export type LinesPart = {
  index: number;
  from_line: number;
  lines: Line[];
  bytes: number;
  prefix_sha256: string | null;
  through_sha256: string;
  is_last: boolean;
};

/** A file's beginning: that many parts, and their hash. */
export type Prefix = { parts: number; sha256: string };

/** A part is yielded with the line that follows it, or at the end: until then it may be the last. */
export async function* partsOf(batches: AsyncIterable<Line[]>): AsyncGenerator<LinesPart> {
  const hash = createHash('sha256');
  let [index, from_line, prefix_sha256]: [number, number, string | null] = [0, 0, null];
  let [lines, bytes]: [Line[], number] = [[], 0];
  const end = (is_last: boolean): LinesPart => {
    const through_sha256 = hash.copy().digest('hex');
    const part = { index, from_line, lines, bytes, prefix_sha256, through_sha256, is_last };
    [index, from_line, prefix_sha256] = [index + 1, from_line + lines.length, through_sha256];
    [lines, bytes] = [[], 0];
    return part;
  };
  for await (const batch of batches) {
    for (const line of batch) {
      const size = sizeOf(line);
      if (bytes >= PART_BYTES || (bytes > 0 && bytes + size > MAX_PART_BYTES)) yield end(false);
      lines.push(line);
      bytes += size;
      hash.update(bytesOf(line)).update('\n');
    }
  }
  if (lines.length > 0) yield end(true);
}

const sizeOf = (line: Line): number => bytesOf(line).length + 1;

/** Reads a transcript once, for a service to which each part has to name how many there are, and the hash of all. */
export async function planParts(batches: AsyncIterable<Line[]>): Promise<{ count: number; file_sha256: string }> {
  let [count, file_sha256]: [number, string] = [0, ''];
  for await (const { index, through_sha256 } of partsOf(batches)) [count, file_sha256] = [index + 1, through_sha256];
  return { count, file_sha256 };
}
