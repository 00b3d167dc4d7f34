/**
 * Scans the records of a run, one after the other. Reads sequentially in large chunks, checks each record, and skips damage: what
 * cannot be read is lost and logged, and never throws.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import type { Logger } from '../log.ts';
import { parseJson } from '../parse-json.ts';
import { type SegmentFile, segmentPath, segmentsIn } from './journal-files.ts';
import {
  Continues,
  KIND,
  MAGIC,
  magicOf,
  RECORD_HEADER_BYTES,
  type RecordKind,
  recordAt,
  recordBytesAt,
} from './journal-record.ts';

const WINDOW_BYTES = 524_288;
const NEAR_BYTES = 16_384; // spans nearer than this are read in one go
const OPEN_FILES = 8;
const FIRST_RECORD_BYTES = 256; // room for the magic and the first record

/** `payload` is a view that is valid until the next `peek`. */
export type ScannedRecord = {
  segment: number;
  start: number;
  end: number;
  kind: RecordKind;
  call: number;
  payload: Uint8Array;
};

/** Records of one call and kind that lie side by side, three numbers each: segment, start of the first, end of the last. */
export type Spans = number[];

export type Scan = {
  /** The record at the current position, the same one until `advance`. Null: there is none yet, or no more at all. */
  peek(): ScannedRecord | null;
  advance(): void;
  /** Sets how far a live run is written. */
  written(segment: number, byteOffset: number): void;
  /** Copies the payloads of the spans' records into `target`, beginning at `from`, until `pieceBytes` are copied; null when they are gone. */
  load(spans: Spans, from: SpanPlace, target: Uint8Array, pieceBytes: number): SpanPlace | null;
  /** Segments before this one have been read to their end. */
  segment(): number;
  /** The last valid segment before the current one; 0: there is none. */
  before(): number;
  /** Reports that another file has replaced this segment, and holds what was needed of it and of the segments before it. */
  carried(segment: number): void;
  /** True when no more records can come; never for a live run. */
  ended(): boolean;
  /** True when another version of svc wrote the run: nothing of it is read, and nothing may be deleted. */
  unreadable(): boolean;
  /** Closes the file of a segment that is about to be deleted: the disk frees its space only then. */
  release(segment: number): void;
  close(): void;
};

/** How far a load has come: the span, the offset of its next record, and how many bytes are in the target. */
export type SpanPlace = { span: number; offset: number; loaded: number };

type Window = { segment: number; start: number; length: number; bytes: Buffer };

type Options = { folder: string; runId: string; live: boolean; onDamage: () => void; log: Logger };

/** @param onDamage called at each loss, before the records behind it are delivered */
export function openScan({ folder, runId, live, onDamage, log }: Options): Scan {
  const scanning: Window = { segment: 0, start: 0, length: 0, bytes: Buffer.alloc(0) };
  const loading: Window = { segment: 0, start: 0, length: 0, bytes: Buffer.alloc(0) };
  const files = new Map<number, number>();
  let writtenUpTo: Continues = { segment: 0, byte_offset: 0 };
  let current: { segment: number; final: boolean } | null = null;
  let previous = 0; // the last segment with the right magic
  let listed: SegmentFile[] | null = null; // of a dead run, which cannot grow
  let cursor = 0;
  let end = 0;
  let peeked: ScannedRecord | null = null;
  let ended = false;
  let unreadable = false;
  let carriedInto: number | null = null; // the segments before it are void; null: not determined yet

  const reportLoss = (reason: string, position: Record<string, unknown>) => {
    log.warn({ run_id: runId, ...position }, `Cannot read all of the journal: ${reason}`);
    onDamage();
  };

  // Files

  const fileOf = (segment: number): number => {
    const known = files.get(segment);
    if (known !== undefined) return known;
    for (const [oldest, file] of files) {
      if (files.size < OPEN_FILES) break;
      files.delete(oldest);
      closeSync(file);
    }
    const file = openSync(segmentPath(folder, runId, segment), 'r');
    files.set(segment, file);
    return file;
  };

  const release = (segment: number) => {
    const file = files.get(segment);
    if (file !== undefined) closeSync(file);
    files.delete(segment);
  };

  /** Reads the segment from `at` on into `bytes`. @returns how many bytes were read; 0 where the file is gone */
  const readAt = (segment: number, at: number, bytes: Buffer, count: number): number => {
    try {
      let bytesRead = 0;
      while (bytesRead < count) {
        const more = readSync(fileOf(segment), bytes, bytesRead, count - bytesRead, at + bytesRead);
        if (more === 0) break;
        bytesRead += more;
      }
      return bytesRead;
    } catch (error) {
      log.warn(
        { run_id: runId, segment, code: (error as NodeJS.ErrnoException).code },
        'Cannot read a journal segment',
      );
      return 0;
    }
  };

  /** Fills a window from `at` on. */
  const fill = (window: Window, segment: number, at: number, count: number) => {
    if (window.bytes.length < count) window.bytes = Buffer.allocUnsafeSlow(Math.max(count, WINDOW_BYTES));
    window.length = readAt(segment, at, window.bytes, count);
    window.segment = segment;
    window.start = at;
  };

  const covers = (window: Window, segment: number, at: number, count: number) =>
    window.segment === segment && at >= window.start && at + count <= window.start + window.length;

  // Segments

  const segments = (): SegmentFile[] => {
    if (!live && listed) return listed;
    const all = segmentsIn(folder, runId);
    carriedInto ??= all.findLast(({ segment }) => continuesOf(segment)?.carried)?.segment ?? 0;
    const first = carriedInto;
    listed = all.filter(({ segment }) => segment >= first && (!live || segment <= writtenUpTo.segment));
    return listed;
  };

  /** The first record of a segment; null when it cannot be read. */
  const continuesOf = (segment: number): Continues | null => {
    const bytes = Buffer.alloc(FIRST_RECORD_BYTES);
    const bytesRead = readAt(segment, 0, bytes, bytes.length);
    const record = recordAt(bytes, MAGIC.byteLength, bytesRead);
    if (typeof record === 'string' || record.kind !== KIND.continues) return null;
    return Continues.safeParse(parsed(bytes.subarray(record.payload_at, record.end))).data ?? null;
  };

  /** The end of a segment that is no longer written: as the next readable segment states it, else the end of its file. */
  const finalEnd = (segment: number): number => {
    const all = segments();
    const size = all.find((file) => file.segment === segment)?.bytes ?? 0;
    if (segment === carriedInto) return size; // the segments after it refer to the file that it replaced
    for (const later of all.filter((file) => file.segment > segment)) {
      const continues = continuesOf(later.segment);
      if (continues === null) continue;
      if (continues.segment > segment) return size;
      const validEnd = continues.segment === segment ? continues.byte_offset : 0;
      if (size < validEnd)
        reportLoss('a segment is shorter than it was', { segment, bytes: size, written_bytes: validEnd });
      return Math.min(size, validEnd);
    }
    return size;
  };

  const enterNext = (): boolean => {
    const next = segments().find((file) => file.segment > (current?.segment ?? 0));
    if (!next) {
      ended = !live;
      return false;
    }
    const final = !live || next.segment < writtenUpTo.segment;
    current = { segment: next.segment, final };
    end = final ? finalEnd(next.segment) : writtenUpTo.byte_offset;
    cursor = end;
    if (end === 0) return true;
    const magic = Buffer.alloc(MAGIC.byteLength);
    const owner = magicOf(magic.subarray(0, readAt(next.segment, 0, magic, magic.length)));
    if (owner === 'other-version') {
      log.error({ run_id: runId, segment: next.segment }, 'Cannot read a journal: another version of svc wrote it');
      unreadable = true;
    } else if (owner === 'foreign') {
      reportLoss('a segment does not begin like one', { segment: next.segment });
    } else if (owner === 'torn' && end >= MAGIC.byteLength) {
      reportLoss('a segment cannot be opened', { segment: next.segment });
    } else if (owner === 'ours') {
      const continues = continuesOf(next.segment);
      const gap = previous > 0 && continues !== null && continues.segment !== previous;
      if (gap) reportLoss('segments are missing', { after: previous, before: next.segment });
      previous = next.segment;
      cursor = MAGIC.byteLength;
    }
    return true;
  };

  /** Whether a live segment has grown. It is final once a later one has been begun. */
  const hasGrown = (): boolean => {
    if (!current || current.final) return false;
    if (writtenUpTo.segment === current.segment) end = Math.max(end, writtenUpTo.byte_offset);
    else {
      current.final = true;
      end = Math.max(cursor, finalEnd(current.segment));
    }
    return cursor < end;
  };

  // Records

  const recordAtCursor = (segment: number, at: number) => {
    for (const count of [RECORD_HEADER_BYTES, null]) {
      const from = at - scanning.start;
      const needed = count ?? recordBytesAt(scanning.bytes, from, scanning.length) ?? RECORD_HEADER_BYTES;
      if (!covers(scanning, segment, at, needed)) {
        if (at + needed > end) return 'short';
        fill(scanning, segment, at, Math.min(end - at, Math.max(needed, WINDOW_BYTES)));
      }
    }
    return recordAt(scanning.bytes, at - scanning.start, Math.min(scanning.length, end - scanning.start));
  };

  /** Skips a damaged record: to the next one, if there is a valid one where its length says, or to the segment's end. */
  const skipDamage = (segment: number, found: 'short' | 'damaged') => {
    const start = cursor;
    const size = found === 'short' ? null : recordBytesAt(scanning.bytes, cursor - scanning.start, scanning.length);
    const next = size === null ? end : cursor + size;
    cursor = next < end && typeof recordAtCursor(segment, next) !== 'string' ? next : end;
    const last = !live && segments().at(-1)?.segment === segment && cursor === end;
    if (last) {
      log.info(
        { run_id: runId, segment, byte_offset: start, torn_bytes: end - start },
        'The journal of a run that was killed has a torn end',
      );
      onDamage();
    } else reportLoss('a record is damaged', { segment, byte_offset: start, lost_bytes: cursor - start });
  };

  const peek = (): ScannedRecord | null => {
    while (peeked === null && !unreadable && !ended) {
      if (cursor >= end && !hasGrown()) {
        if (current && !current.final) return null;
        if (!enterNext()) return null;
        continue;
      }
      const segment = current?.segment ?? 0;
      const found = recordAtCursor(segment, cursor);
      if (typeof found === 'string') skipDamage(segment, found);
      else if (found.kind === KIND.continues) cursor = found.end + scanning.start;
      else {
        const payload = scanning.bytes.subarray(found.payload_at, found.end);
        peeked = {
          segment,
          start: cursor,
          end: found.end + scanning.start,
          kind: found.kind,
          call: found.call,
          payload,
        };
      }
    }
    return peeked;
  };

  const advance = () => {
    cursor = peeked?.end ?? cursor;
    peeked = null;
  };

  // Bodies

  /** The end of the read for span `i` from `at` on: it covers the spans behind it that are near. */
  const reach = (spans: Spans, i: number, at: number): number => {
    let until = spans[i + 2] ?? at;
    for (let j = i + 3; j < spans.length && spans[j] === spans[i]; j += 3) {
      if ((spans[j + 1] ?? 0) - until > NEAR_BYTES || until - at >= WINDOW_BYTES) break;
      until = spans[j + 2] ?? until;
    }
    return until;
  };

  const load = (spans: Spans, from: SpanPlace, target: Uint8Array, pieceBytes: number): SpanPlace | null => {
    let { span, offset, loaded } = from;
    const stop = loaded + pieceBytes;
    for (; span < spans.length && loaded < stop; span += 3, offset = 0) {
      const segment = spans[span] ?? 0;
      const spanEnd = spans[span + 2] ?? 0;
      let at = offset || (spans[span + 1] ?? 0);
      while (at < spanEnd) {
        if (loaded >= stop) return { span, offset: at, loaded };
        let window = covers(scanning, segment, at, RECORD_HEADER_BYTES) ? scanning : loading;
        let size = covers(window, segment, at, RECORD_HEADER_BYTES)
          ? recordBytesAt(window.bytes, at - window.start, window.length)
          : 0;
        if (!size || !covers(window, segment, at, size)) {
          window = loading;
          fill(loading, segment, at, Math.min(reach(spans, span, at) - at, Math.max(size ?? 0, WINDOW_BYTES)));
          size = recordBytesAt(loading.bytes, 0, loading.length);
          if (!size || !covers(loading, segment, at, size)) return null;
        }
        const payload = at - window.start + RECORD_HEADER_BYTES;
        target.set(window.bytes.subarray(payload, at - window.start + size), loaded);
        loaded += size - RECORD_HEADER_BYTES;
        at += size;
      }
    }
    return { span, offset: 0, loaded };
  };

  return {
    peek,
    advance,
    written: (segment, byteOffset) => {
      const later =
        segment > writtenUpTo.segment || (segment === writtenUpTo.segment && byteOffset > writtenUpTo.byte_offset);
      if (later) writtenUpTo = { segment, byte_offset: byteOffset };
    },
    load,
    segment: () => current?.segment ?? 0,
    before: () => (current ? (continuesOf(current.segment)?.segment ?? 0) : 0),
    carried: (segment) => {
      carriedInto = segment;
      release(segment);
      for (const window of [scanning, loading]) if (window.segment === segment) window.length = 0;
    },
    ended: () => ended,
    unreadable: () => unreadable,
    release,
    close: () => {
      for (const file of files.values()) closeSync(file);
      files.clear();
    },
  };
}

const parsed = (json: Buffer): unknown => {
  try {
    return parseJson(json.toString('utf8'));
  } catch {
    return null;
  }
};
