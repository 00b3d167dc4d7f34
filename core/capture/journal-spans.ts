/** The spans of a body: where its records lie, and the reading of their payloads once the call has ended. */
import { RECORD_HEADER_BYTES, recordBytesAt } from './journal-record.ts';
import { covers, fill, type SegmentReads, type SegmentWindow, WINDOW_BYTES } from './journal-windows.ts';

const NEAR_BYTES = 16_384; // spans nearer than this are read in one go

/** Records of one call and kind that lie side by side, three numbers each: segment, start of the first, end of the last. */
export type Spans = number[];

/** How far a load has come: the span, the offset of its next record, and how many bytes are in the target. */
export type SpanPlace = { span: number; offset: number; loaded: number };

/** What loads read with. What was scanned last is often what is loaded first, and is not read a second time. */
export type SpanReads = { reads: SegmentReads; scanning: SegmentWindow; loading: SegmentWindow };

/** Adds the place of a record's payload to the spans of its call. @returns the bytes of its payload */
export function extended(
  spans: Spans,
  { segment, start, end, payload }: { segment: number; start: number; end: number; payload: Uint8Array },
): number {
  const last = spans.length - 3;
  if (spans[last] === segment && spans[last + 2] === start) spans[last + 2] = end;
  else spans.push(segment, start, end);
  return payload.byteLength;
}

/** The spans in segments up to that one, and the other spans. */
export function cutAfter(spans: Spans, segment: number): [Spans, Spans] {
  const later = spans.findIndex((at, i) => i % 3 === 0 && at > segment);
  return later < 0 ? [spans, []] : [spans.slice(0, later), spans.slice(later)];
}

/** Copies the payloads of the spans' records into `target`, beginning at `from`, until `pieceBytes` are copied; null when they are gone. */
export function loadSpans(
  spanReads: SpanReads,
  spans: Spans,
  from: SpanPlace,
  target: Uint8Array,
  pieceBytes: number,
): SpanPlace | null {
  const place = { ...from };
  const stop = place.loaded + pieceBytes;
  while (place.span < spans.length && place.loaded < stop) {
    const spanEnd = spans[place.span + 2] ?? 0;
    place.offset ||= spans[place.span + 1] ?? 0;
    while (place.offset < spanEnd) {
      if (place.loaded >= stop) return place;
      if (!loadRecord(spanReads, spans, place, target)) return null;
    }
    place.span += 3;
    place.offset = 0;
  }
  return place;
}

/** Copies the payload of the record at `place`, and moves `place` behind it. @returns false when the record is gone */
function loadRecord(
  { reads, scanning, loading }: SpanReads,
  spans: Spans,
  place: SpanPlace,
  target: Uint8Array,
): boolean {
  const segment = spans[place.span] ?? 0;
  const at = place.offset;
  let window = covers(scanning, segment, at, RECORD_HEADER_BYTES) ? scanning : loading;
  let size = covers(window, segment, at, RECORD_HEADER_BYTES)
    ? recordBytesAt(window.bytes, at - window.start, window.length)
    : 0;
  if (!size || !covers(window, segment, at, size)) {
    window = loading;
    fill(reads, loading, segment, at, Math.min(reach(spans, place.span, at) - at, Math.max(size ?? 0, WINDOW_BYTES)));
    size = recordBytesAt(loading.bytes, 0, loading.length);
    if (!size || !covers(loading, segment, at, size)) return false;
  }
  const payload = at - window.start + RECORD_HEADER_BYTES;
  target.set(window.bytes.subarray(payload, at - window.start + size), place.loaded);
  place.loaded += size - RECORD_HEADER_BYTES;
  place.offset = at + size;
  return true;
}

/** The end of the read for the span at `i` from `at` on: it covers the spans behind it that are near. */
function reach(spans: Spans, i: number, at: number): number {
  let until = spans[i + 2] ?? at;
  for (let j = i + 3; j < spans.length && spans[j] === spans[i]; j += 3) {
    if ((spans[j + 1] ?? 0) - until > NEAR_BYTES || until - at >= WINDOW_BYTES) break;
    until = spans[j + 2] ?? until;
  }
  return until;
}
