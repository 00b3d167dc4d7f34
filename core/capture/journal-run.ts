/** What is known of a run of the journal while it is read: the calls that are open, and what was handed out and not yet stored. */
import { setImmediate as immediately } from 'node:timers/promises';
import type { CallAnswered, CallClosed, CallOpened, JournalPosition } from './journal-format.ts';
import type { Scan, ScannedRecord, SpanPlace, Spans } from './journal-scan.ts';

/** The segment named by positions behind the last record of a run: the largest number that the database's integer holds. */
export const END_OF_RUN = 2_147_483_647;

export const PIECE_BYTES = 4_194_304; // read or copied before other work of the thread gets its turn

export type OpenCall = {
  number: number;
  segment: number; // its first
  opened: CallOpened;
  answered: CallAnswered | null;
  asked: Spans;
  askedBytes: number;
  replied: Spans;
  repliedBytes: number;
  doubtful: boolean; // something was lost while it was open
};

/** An entry that the database may not have yet: the first segment that it needs, and when its call ended. */
type HandedOut = { position: JournalPosition; segment: number; ended: string };

export type Run = {
  run_id: string;
  live: boolean;
  scan: Scan;
  stored: JournalPosition; // what the database has
  open: Map<number, OpenCall>; // in the order of their first records
  uncommitted: HandedOut[];
  highest: number; // number of a call seen
  beginless: number; // ends of calls whose beginnings are lost
  crashed: OpenCall[] | null; // once the files have been read to their end
  carryAt: number; // not before, since the disk refused
};

/** @param bytes at least as many as there are */
export const bodyOf = async (run: Run, spans: Spans, bytes: number): Promise<{ body: Uint8Array; whole: boolean }> => {
  const body = new Uint8Array(bytes);
  let place: SpanPlace = { span: 0, offset: 0, loaded: 0 };
  while (place.span < spans.length) {
    if (place.loaded > 0) await immediately();
    const next = run.scan.load(spans, place, body, PIECE_BYTES);
    if (next === null) return { body: body.slice(0, place.loaded), whole: false };
    place = next;
  }
  return { body: body.subarray(0, place.loaded), whole: true };
};

/** The first segment of a run that must stay. */
export const firstNeeded = (run: Run): number => {
  const [oldest] = run.open.values();
  const first = Math.min(run.scan.segment(), oldest?.segment ?? END_OF_RUN);
  return run.uncommitted.reduce((least, entry) => Math.min(least, entry.segment), first);
};

export const bodyBytes = (call: OpenCall): number => call.askedBytes + call.repliedBytes;

/** Adds a record to its call's places. @returns the bytes of its payload */
export function extended(spans: Spans, { segment, start, end, payload }: ScannedRecord): number {
  const last = spans.length - 3;
  if (spans[last] === segment && spans[last + 2] === start) spans[last + 2] = end;
  else spans.push(segment, start, end);
  return payload.byteLength;
}

/** Something was lost while the call was open: was it of this call? What was cut already is taken as it is. */
export function isWhole(call: OpenCall, closed: CallClosed): boolean {
  if (call.answered === null) return false;
  if (call.opened.keep === 'metadata') return true;
  const request = closed.cut === 'request' || closed.over_limit || call.askedBytes === closed.request_bytes;
  return request && (closed.cut === 'response' || call.repliedBytes === closed.response_bytes);
}
