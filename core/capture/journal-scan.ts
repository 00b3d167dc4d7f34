/**
 * Which records stand in a run, one after the other? Reads sequentially in large pieces, checks each record, and gets past damage:
 * it loses what cannot be made out and says so, and never throws for it.
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

/** `payload` is a view that holds until the next `peek`. */
export type ScannedRecord = {
  segment: number;
  start: number;
  end: number;
  kind: RecordKind;
  call: number;
  payload: Uint8Array;
};

/** Records of one call and kind that stand side by side, three numbers each: segment, start of the first, end of the last. */
export type Spans = number[];

export type Scan = {
  /** The record at the present place, again and again until `advance`. Null: there is no more of it yet, or at all. */
  peek(): ScannedRecord | null;
  advance(): void;
  /** A live run: how far its writer has come. */
  written(segment: number, byteOffset: number): void;
  /** Copies the payloads of the spans' records into `target`, from `at` on, as far as `pieceBytes` allows; null when they are gone. */
  load(spans: Spans, from: SpanPlace, target: Uint8Array, pieceBytes: number): SpanPlace | null;
  /** Segments before this one have been read to their end. */
  segment(): number;
  /** The last one of these that counts; 0: there is none. */
  before(): number;
  /** All that was read of this segment and of those before it stands elsewhere now: there is another file in its place. */
  carried(segment: number): void;
  /** True when no more can come, which a live run never says. */
  ended(): boolean;
  /** True when another version of us wrote the run: nothing of it is read, and nothing may be deleted. */
  unreadable(): boolean;
  /** Lets go of a segment that is about to be deleted: the disk gives its space back only then. */
  release(segment: number): void;
  close(): void;
};

/** How far a load has come: the span, the offset of its next record, and how many bytes are in the target. */
export type SpanPlace = { span: number; offset: number; loaded: number };

type Window = { segment: number; start: number; length: number; bytes: Buffer };

type Options = { folder: string; runId: string; live: boolean; damaged: () => void; log: Logger };

/** @param damaged hears of each loss, before the records behind it are handed out */
export function openScan({ folder, runId, live, damaged, log }: Options): Scan {
  const scanning: Window = { segment: 0, start: 0, length: 0, bytes: Buffer.alloc(0) };
  const loading: Window = { segment: 0, start: 0, length: 0, bytes: Buffer.alloc(0) };
  const files = new Map<number, number>();
  let reported: Continues = { segment: 0, byte_offset: 0 };
  let current: { segment: number; final: boolean } | null = null;
  let previous = 0; // the last segment of which anything counted
  let listed: SegmentFile[] | null = null; // of a dead run, which cannot grow
  let cursor = 0;
  let end = 0;
  let peeked: ScannedRecord | null = null;
  let ended = false;
  let unreadable = false;
  let carriedInto: number | null = null; // what stands before it is void; null: not looked yet

  const lose = (why: string, place: Record<string, unknown>) => {
    log.warn({ run_id: runId, ...place }, `Cannot read all of the journal: ${why}`);
    damaged();
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

  /** How many bytes of the segment from `at` on are now at the beginning of `bytes`; a file that is gone has none. */
  const readAt = (segment: number, at: number, bytes: Buffer, count: number): number => {
    try {
      let got = 0;
      while (got < count) {
        const more = readSync(fileOf(segment), bytes, got, count - got, at + got);
        if (more === 0) break;
        got += more;
      }
      return got;
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
    listed = all.filter(({ segment }) => segment >= first && (!live || segment <= reported.segment));
    return listed;
  };

  /** What a segment's first record says of those before it; null when it cannot be read. */
  const continuesOf = (segment: number): Continues | null => {
    const bytes = Buffer.alloc(FIRST_RECORD_BYTES);
    const got = readAt(segment, 0, bytes, bytes.length);
    const record = recordAt(bytes, MAGIC.byteLength, got);
    if (typeof record === 'string' || record.kind !== KIND.continues) return null;
    return Continues.safeParse(parsed(bytes.subarray(record.payload_at, record.end))).data ?? null;
  };

  /** Where a segment ends that is written no more: where the next readable one says, or with its file. */
  const finalEnd = (segment: number): number => {
    const all = segments();
    const size = all.find((file) => file.segment === segment)?.bytes ?? 0;
    if (segment === carriedInto) return size; // what came after it knows the file that it replaced
    for (const later of all.filter((file) => file.segment > segment)) {
      const said = continuesOf(later.segment);
      if (said === null) continue;
      if (said.segment > segment) return size;
      const good = said.segment === segment ? said.byte_offset : 0;
      if (size < good) lose('a segment is shorter than it was', { segment, bytes: size, written_bytes: good });
      return Math.min(size, good);
    }
    return size;
  };

  const enterNext = (): boolean => {
    const next = segments().find((file) => file.segment > (current?.segment ?? 0));
    if (!next) {
      ended = !live;
      return false;
    }
    const final = !live || next.segment < reported.segment;
    current = { segment: next.segment, final };
    end = final ? finalEnd(next.segment) : reported.byte_offset;
    cursor = end;
    if (end === 0) return true;
    const magic = Buffer.alloc(MAGIC.byteLength);
    const owner = magicOf(magic.subarray(0, readAt(next.segment, 0, magic, magic.length)));
    if (owner === 'other-version') {
      log.error({ run_id: runId, segment: next.segment }, 'Cannot read a journal: another version of svc wrote it');
      unreadable = true;
    } else if (owner === 'foreign') {
      lose('a segment does not begin like one', { segment: next.segment });
    } else if (owner === 'torn' && end >= MAGIC.byteLength) {
      lose('a segment cannot be opened', { segment: next.segment });
    } else if (owner === 'ours') {
      const said = continuesOf(next.segment);
      const gap = previous > 0 && said !== null && said.segment !== previous;
      if (gap) lose('segments are missing', { after: previous, before: next.segment });
      previous = next.segment;
      cursor = MAGIC.byteLength;
    }
    return true;
  };

  /** A live segment grows, until a later one has been begun. */
  const grown = (): boolean => {
    if (!current || current.final) return false;
    if (reported.segment === current.segment) end = Math.max(end, reported.byte_offset);
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
      const known = count ?? recordBytesAt(scanning.bytes, from, scanning.length) ?? RECORD_HEADER_BYTES;
      if (!covers(scanning, segment, at, known)) {
        if (at + known > end) return 'short';
        fill(scanning, segment, at, Math.min(end - at, Math.max(known, WINDOW_BYTES)));
      }
    }
    return recordAt(scanning.bytes, at - scanning.start, Math.min(scanning.length, end - scanning.start));
  };

  /** Past a record that is none: to the next, if there is one where its length says, or to the segment's end. */
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
      damaged();
    } else lose('a record is damaged', { segment, byte_offset: start, lost_bytes: cursor - start });
  };

  const peek = (): ScannedRecord | null => {
    while (peeked === null && !unreadable && !ended) {
      if (cursor >= end && !grown()) {
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

  /** How far to read for span `i` from `at` on: over the spans behind it that are near. */
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
      const later = segment > reported.segment || (segment === reported.segment && byteOffset > reported.byte_offset);
      if (later) reported = { segment, byte_offset: byteOffset };
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
