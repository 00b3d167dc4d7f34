/** Reads the lines of a file of any size in batches, and holds no more of it than one batch and the line that is open. */
import { createReadStream } from 'node:fs';
import { openShortener, type Shortener } from './shorten-line.ts';
import { bytesOf, type FoundTranscript, type Line } from './transcript-source.ts';

const CHUNK_BYTES = 256 * 1024;

/** Of a longer line the rest of its long texts is left out: beside it, the body of an upload has to have room for a part. */
export const MAX_LINE_BYTES = 8 * 1024 * 1024;

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const MARK = Buffer.from('\ufeff');

/** The lines that are not blank, up to the size at which the file was found: what is written meanwhile belongs to its next version. */
export async function* fileLines({ path, bytes }: Pick<FoundTranscript, 'path' | 'bytes'>): AsyncGenerator<Line[]> {
  if (bytes === 0) return;
  let open = openLine();
  let isFirst = true;
  const close = (): Line | null => {
    const line = open.end();
    const kept = Buffer.isBuffer(line) ? trimmed(line, isFirst) : line;
    [open, isFirst] = [openLine(), false];
    return kept;
  };
  for await (const chunk of createReadStream(path, { end: bytes - 1, highWaterMark: CHUNK_BYTES })) {
    const lines: Line[] = [];
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      open.add(chunk.subarray(from, end));
      const line = close();
      if (line !== null) lines.push(line);
      from = end + 1;
    }
    if (from < chunk.length) open.add(chunk.subarray(from));
    if (lines.length > 0) yield lines;
  }
  const last = close();
  if (last !== null) yield [last];
}

type OpenLine = { add(piece: Buffer): void; end(): Line };

/** A line of which pieces come: held as they are, and without the rest of its long texts once they are too many. */
function openLine(): OpenLine {
  let pieces: Buffer[] = [];
  let [fileBytes, heldBytes]: [number, number] = [0, 0];
  let shortener: Shortener | null = null;
  const hold = (piece: Buffer) => {
    heldBytes += piece.length;
    if (heldBytes <= MAX_LINE_BYTES) pieces.push(piece);
    else pieces = []; // it is long without long texts
  };
  return {
    add: (piece) => {
      fileBytes += piece.length;
      if (shortener === null && fileBytes > MAX_LINE_BYTES) {
        shortener = openShortener();
        const whole = Buffer.concat(pieces);
        [pieces, heldBytes] = [[], 0];
        hold(shortener.add(whole));
      }
      hold(shortener ? shortener.add(piece) : piece);
    },
    end: () => {
      if (!shortener) return pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
      const cut = heldBytes <= MAX_LINE_BYTES ? Buffer.concat(pieces) : leftOut(fileBytes);
      return { cut, fileBytes };
    },
  };
}

const leftOut = (bytes: number) => Buffer.from(JSON.stringify(`[svc sync left out a line of ${bytes} bytes]`));

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
      const record = objectIn(bytesOf(line));
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
