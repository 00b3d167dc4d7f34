/** Cuts a transcript into the parts in which it is sent: the same for the same lines, so that what was sent once is recognised. */
import { createHash } from 'node:crypto';
import { bytesOf, type Line } from './transcript-source.ts';

/** A part is complete with the line that brings it to this size. */
const PART_BYTES = 2 * 1024 * 1024;
/** A line that would bring it beyond this begins the next one: a body of the ingest API holds some 15 MB. */
const MAX_PART_BYTES = 8 * 1024 * 1024;

/** `bytes` of the file. */
export type LinesPart = { index: number; from_line: number; lines: Line[]; bytes: number };

export async function* partsOf(batches: AsyncIterable<Line[]>): AsyncGenerator<LinesPart> {
  let part: LinesPart = { index: 0, from_line: 0, lines: [], bytes: 0 };
  let seen = 0; // counted here, since the reader of a part may empty it
  const next = (): LinesPart => ({ index: part.index + 1, from_line: seen, lines: [], bytes: 0 });
  for await (const lines of batches) {
    for (const line of lines) {
      const bytes = sizeOf(line);
      if (part.lines.length > 0 && part.bytes + bytes > MAX_PART_BYTES) {
        yield part;
        part = next();
      }
      part.lines.push(line);
      seen++;
      part.bytes += bytes;
      if (part.bytes < PART_BYTES) continue;
      yield part;
      part = next();
    }
  }
  if (part.lines.length > 0) yield part;
}

const sizeOf = (line: Line): number => bytesOf(line).length + 1;

/** `whole`: all of it, where it is one part. */
export type PartsPlan = { count: number; file_sha256: string; whole: LinesPart | null };

/** Reads a transcript once, to know what each part has to name: how many there are, and the hash of all. */
export async function planParts(batches: AsyncIterable<Line[]>): Promise<PartsPlan> {
  const hash = createHash('sha256');
  let count = 0;
  let whole: LinesPart | null = null;
  for await (const part of partsOf(batches)) {
    count++;
    whole = count === 1 ? part : null;
    for (const line of part.lines) hash.update(bytesOf(line)).update('\n');
  }
  return { count, file_sha256: hash.digest('hex'), whole };
}
