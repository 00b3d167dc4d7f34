/**
 * Scans the records of a run, one after the other. Reads sequentially in large chunks, checks each record, and skips damage: what
 * cannot be read is lost and logged. Only an error of the disk that may pass is thrown, and before anything has changed: the next call
 * goes on from the same place.
 */
import type { Logger } from '../log.ts';
import {
  type Continues,
  KIND,
  MAGIC,
  magicOf,
  RECORD_HEADER_BYTES,
  type RecordHead,
  type RecordKind,
  recordAt,
  recordBytesAt,
} from './journal-record.ts';
import {
  continuesOf,
  endLive,
  extendWritten,
  finalEnd,
  type RunSegments,
  runSegments,
  validSegments,
} from './journal-segments.ts';
import { loadSpans, type SpanPlace, type Spans } from './journal-spans.ts';
import { covers, emptyWindow, fill, openSegmentReads, type SegmentWindow, WINDOW_BYTES } from './journal-windows.ts';

/** `payload` is a view that is valid until the next `peek`. */
export type ScannedRecord = {
  segment: number;
  start: number;
  end: number;
  kind: RecordKind;
  call: number;
  payload: Uint8Array;
};

export type Scan = {
  /**
   * The record at the current position, the same one until `advance`. Null: there is none yet, or no more at all.
   * @throws the disk's error, as do `load` and `before`: call it again later
   */
  peek(): ScannedRecord | null;
  advance(): void;
  /** Sets how far a live run is written. */
  written(segment: number, byteOffset: number): void;
  /** The process that wrote the run has ended: its files are read to their end, whatever was reported as written. */
  ended(): void;
  /** Copies the payloads of the spans' records into `target`, beginning at `from`, until `pieceBytes` are copied; null when they are gone. */
  load(spans: Spans, from: SpanPlace, target: Uint8Array, pieceBytes: number): SpanPlace | null;
  /** Segments before this one have been read to their end. */
  segment(): number;
  /** The last valid segment before the current one; 0: there is none. */
  before(): number;
  /** Reports that another file has replaced this segment, and holds what was needed of it and of the segments before it. */
  carried(segment: number): void;
  /** True when another version of svc wrote the run: nothing of it is read, and nothing may be deleted. */
  unreadable(): boolean;
  /** Closes the file of a segment that is about to be deleted: the disk frees its space only then. */
  release(segment: number): void;
  close(): void;
};

type Options = {
  folder: string;
  runId: string;
  live: boolean;
  damagedAfterMs: number;
  onDamage: () => void;
  log: Logger;
};

type ScanState = {
  run: RunSegments;
  scanning: SegmentWindow;
  current: { segment: number; final: boolean } | null;
  previous: number; // the last segment with the right magic
  cursor: number;
  end: number; // of what is valid in the current segment, so far
  peeked: ScannedRecord | null;
  ended: boolean; // no more records can come; never for a live run
  unreadable: boolean;
  onDamage: () => void;
  log: Logger;
};

/** @param onDamage called at each loss, before the records behind it are delivered */
export function openScan({ folder, runId, live, damagedAfterMs, onDamage, log }: Options): Scan {
  const reads = openSegmentReads(folder, runId, damagedAfterMs, log);
  const run = runSegments({ folder, runId, live, reads });
  const scanning = emptyWindow();
  const loading = emptyWindow();
  const scan: ScanState = {
    run,
    scanning,
    current: null,
    previous: 0,
    cursor: 0,
    end: 0,
    peeked: null,
    ended: false,
    unreadable: false,
    onDamage,
    log,
  };
  return {
    peek: () => peek(scan),
    advance: () => {
      scan.cursor = scan.peeked?.end ?? scan.cursor;
      scan.peeked = null;
    },
    written: (segment, byteOffset) => extendWritten(run, segment, byteOffset),
    ended: () => endLive(run),
    load: (spans, from, target, pieceBytes) => loadSpans({ reads, scanning, loading }, spans, from, target, pieceBytes),
    segment: () => scan.current?.segment ?? 0,
    before: () => (scan.current ? (continuesOf(run, scan.current.segment)?.segment ?? 0) : 0),
    carried: (segment) => {
      run.carriedInto = segment;
      reads.release(segment);
      for (const window of [scanning, loading]) if (window.segment === segment) window.length = 0;
    },
    unreadable: () => scan.unreadable,
    release: reads.release,
    close: reads.close,
  };
}

function peek(scan: ScanState): ScannedRecord | null {
  while (scan.peeked === null && !scan.unreadable && !scan.ended) {
    if (scan.cursor >= scan.end && !hasGrown(scan)) {
      if (scan.current && !scan.current.final) return null;
      if (!enterNext(scan)) return null;
      continue;
    }
    const segment = scan.current?.segment ?? 0;
    const found = recordAtOffset(scan, segment, scan.cursor);
    if (typeof found === 'string') skipDamage(scan, segment, found);
    else if (found.kind === KIND.continues) scan.cursor = found.end + scan.scanning.start;
    else scan.peeked = scannedRecord(scan, segment, found);
  }
  return scan.peeked;
}

const scannedRecord = (
  { cursor, scanning }: ScanState,
  segment: number,
  { kind, call, payload_at, end }: RecordHead,
): ScannedRecord => ({
  segment,
  start: cursor,
  end: end + scanning.start,
  kind,
  call,
  payload: scanning.bytes.subarray(payload_at, end),
});

const reportLoss = ({ run, onDamage, log }: ScanState, reason: string, position: Record<string, unknown>) => {
  log.warn({ run_id: run.runId, ...position }, `Cannot read all of the journal: ${reason}`);
  onDamage();
};

// Segments

/** Whether a live segment has grown. It is final once a later one has been begun. */
function hasGrown(scan: ScanState): boolean {
  const { current, run } = scan;
  if (!current || current.final) return false;
  if (run.live && run.writtenUpTo.segment === current.segment)
    scan.end = Math.max(scan.end, run.writtenUpTo.byte_offset);
  else {
    scan.end = Math.max(scan.cursor, endOfFinal(scan, current.segment));
    current.final = true; // only now, since a read may have failed
  }
  return scan.cursor < scan.end;
}

function endOfFinal(scan: ScanState, segment: number): number {
  const { end, written } = finalEnd(scan.run, segment);
  if (written !== null)
    reportLoss(scan, 'a segment is shorter than it was', { segment, bytes: end, written_bytes: written });
  return end;
}

/** @returns false when there is no next segment yet */
function enterNext(scan: ScanState): boolean {
  const { run } = scan;
  const next = validSegments(run).find((file) => file.segment > (scan.current?.segment ?? 0));
  if (!next) {
    scan.ended = !run.live;
    return false;
  }
  const final = !run.live || next.segment < run.writtenUpTo.segment;
  const end = final ? endOfFinal(scan, next.segment) : run.writtenUpTo.byte_offset;
  const beginning = end > 0 ? segmentBeginning(run, next.segment) : null;
  scan.current = { segment: next.segment, final }; // only now, since a read may have failed
  scan.end = end;
  scan.cursor = end;
  if (beginning) checkMagic(scan, next.segment, beginning);
  return true;
}

type SegmentBeginning = { owner: ReturnType<typeof magicOf>; continues: Continues | null };

function segmentBeginning(run: RunSegments, segment: number): SegmentBeginning {
  const magic = Buffer.alloc(MAGIC.byteLength);
  const owner = magicOf(magic.subarray(0, run.reads.readAt(segment, 0, magic, magic.length)));
  return { owner, continues: owner === 'ours' ? continuesOf(run, segment) : null };
}

/** Moves the cursor to the first record of a segment that is ours, and leaves it at the end of any other. */
function checkMagic(scan: ScanState, segment: number, { owner, continues }: SegmentBeginning): void {
  const { run, log } = scan;
  if (owner === 'other-version') {
    log.error({ run_id: run.runId, segment }, 'Cannot read a journal: another version of svc wrote it');
    scan.unreadable = true;
  } else if (owner === 'foreign') {
    reportLoss(scan, 'a segment does not begin like one', { segment });
  } else if (owner === 'torn' && scan.end >= MAGIC.byteLength) {
    reportLoss(scan, 'a segment cannot be opened', { segment });
  } else if (owner === 'ours') {
    const gap = scan.previous > 0 && continues !== null && continues.segment !== scan.previous;
    if (gap) reportLoss(scan, 'segments are missing', { after: scan.previous, before: segment });
    scan.previous = segment;
    scan.cursor = MAGIC.byteLength;
  }
}

// Records

function recordAtOffset({ run, scanning, end }: ScanState, segment: number, at: number) {
  for (const count of [RECORD_HEADER_BYTES, null]) {
    const from = at - scanning.start;
    const needed = count ?? recordBytesAt(scanning.bytes, from, scanning.length) ?? RECORD_HEADER_BYTES;
    if (!covers(scanning, segment, at, needed)) {
      if (at + needed > end) return 'short';
      fill(run.reads, scanning, segment, at, Math.min(end - at, Math.max(needed, WINDOW_BYTES)));
    }
  }
  return recordAt(scanning.bytes, at - scanning.start, Math.min(scanning.length, end - scanning.start));
}

/** Skips a damaged record: to the next one, if there is a valid one where its length says, or to the segment's end. */
function skipDamage(scan: ScanState, segment: number, found: 'short' | 'damaged'): void {
  const { run, scanning, cursor: start, end, log } = scan;
  const size = found === 'short' ? null : recordBytesAt(scanning.bytes, start - scanning.start, scanning.length);
  const next = size === null ? end : start + size;
  scan.cursor = next < end && typeof recordAtOffset(scan, segment, next) !== 'string' ? next : end;
  const last = !run.live && validSegments(run).at(-1)?.segment === segment && scan.cursor === end;
  if (last) {
    log.info(
      { run_id: run.runId, segment, byte_offset: start, torn_bytes: end - start },
      'The journal of a run that was killed has a torn end',
    );
    scan.onDamage();
  } else reportLoss(scan, 'a record is damaged', { segment, byte_offset: start, lost_bytes: scan.cursor - start });
}
