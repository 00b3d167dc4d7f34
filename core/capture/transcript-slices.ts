/**
 * Cuts the body of a transcript upload between its records: many of them are one slice. A single record has little that repeats; together
 * they compress to less than half, and cost a tenth of the rows. (`npm run bench -- intake:transcripts`)
 */
import { cutRecords, type Piece } from './slices.ts';

/**
 * Bytes of the records of a slice: slices of the first size as far as they fill, then of the second, then the rest. A file that has grown
 * shares its long slices, and stores a few KiB of its tail anew.
 */
const SIZES = [65_536, 8_192];

/** The pieces of a body in order, as of `sliceBody`. */
export function sliceTranscript(body: Uint8Array): Piece[] {
  const out: Piece[] = [];
  let records: Piece[] = [];
  for (const piece of cutRecords(body)) {
    if (piece.section !== null) records.push(piece);
    else {
      out.push(...together(records), piece);
      records = [];
    }
  }
  return out;
}

function together(records: readonly Piece[]): Piece[] {
  const out: Piece[] = [];
  const end = records.at(-1)?.end ?? 0;
  let start = records[0]?.start ?? 0;
  for (const record of records) {
    const size = SIZES.find((one) => end - start >= one);
    if (record.end < end && (size === undefined || record.end - start < size)) continue;
    out.push({ section: 'records', start, end: record.end });
    start = record.end;
  }
  return out;
}
