/** Reads the lines of a file of any size in batches, and holds no more of it than one batch and the line that is open. */
import { createReadStream } from 'node:fs';
import type { FoundTranscript, Line } from './transcript-source.ts';

const CHUNK_BYTES = 256 * 1024;

/** A line that is longer is counted and not held. */
export const MAX_LINE_BYTES = 32 * 1024 * 1024;

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const MARK = Buffer.from('\ufeff');

/** The lines that are not blank, up to the size at which the file was found: what is written meanwhile belongs to its next version. */
export async function* fileLines({ path, bytes }: Pick<FoundTranscript, 'path' | 'bytes'>): AsyncGenerator<Line[]> {
  if (bytes === 0) return;
  let pieces: Buffer[] = [];
  let length = 0;
  let isFirst = true;
  const add = (piece: Buffer) => {
    length += piece.length;
    if (length <= MAX_LINE_BYTES) pieces.push(piece);
    else pieces = [];
  };
  const close = (): Line | null => {
    const line = length > MAX_LINE_BYTES ? length : trimmed(Buffer.concat(pieces, length), isFirst);
    [pieces, length, isFirst] = [[], 0, false];
    return line;
  };
  for await (const chunk of createReadStream(path, { end: bytes - 1, highWaterMark: CHUNK_BYTES })) {
    const lines: Line[] = [];
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      add(chunk.subarray(from, end));
      const line = close();
      if (line !== null) lines.push(line);
      from = end + 1;
    }
    if (from < chunk.length) add(chunk.subarray(from));
    if (lines.length > 0) yield lines;
  }
  const last = length > 0 ? close() : null;
  if (last !== null) yield [last];
}

/** null: a blank line. */
function trimmed(line: Buffer, isFirst: boolean): Buffer | null {
  const start = isFirst && line.subarray(0, MARK.length).equals(MARK) ? MARK.length : 0;
  const end = line.at(-1) === RETURN ? line.length - 1 : line.length;
  const kept = line.subarray(start, Math.max(start, end));
  return kept.length === 0 || (kept.length < 256 && kept.toString('latin1').trim() === '') ? null : kept;
}

/** The first records of a file that are JSON objects, for what a file says of itself at its beginning. */
export async function firstRecords(found: FoundTranscript, most: number): Promise<Record<string, unknown>[]> {
  const records: Record<string, unknown>[] = [];
  let seen = 0;
  for await (const lines of fileLines(found)) {
    for (const line of lines) {
      const record = typeof line === 'number' ? null : objectIn(line);
      if (record) records.push(record);
      if (++seen === most) return records;
    }
  }
  return records;
}

function objectIn(line: Buffer): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
