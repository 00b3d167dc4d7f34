/** The state of a run of the journal while it is read: its open calls, and the entries delivered and not yet stored. */
import { setImmediate as immediately } from 'node:timers/promises';
import type { CallClosed, CallOpened, JournalPosition, ResponseHead } from './journal-format.ts';
import type { Scan } from './journal-scan.ts';
import type { SpanPlace, Spans } from './journal-spans.ts';

/** The segment number in positions behind the last record of a run: the largest number that the database's integer holds. */
export const END_OF_RUN = 2_147_483_647;

export const PIECE_BYTES = 4_194_304; // read or copied before the thread yields to other work

export type OpenCall = {
  number: number;
  segment: number; // the call's first
  opened: CallOpened;
  responseHead: ResponseHead | null;
  requestSpans: Spans;
  requestBytes: number;
  responseSpans: Spans;
  responseBytes: number;
  doubtful: boolean; // something was lost while it was open
};

/** An entry delivered that the database may not have yet: the first segment that it needs, and when its call ended. */
type UncommittedEntry = { position: JournalPosition; segment: number; ended: string };

export type JournalRun = {
  run_id: string;
  live: boolean;
  scan: Scan;
  stored: JournalPosition; // what the database has
  open: Map<number, OpenCall>; // in the order of their first records
  uncommitted: UncommittedEntry[];
  highestCall: number; // the highest number of a call seen
  orphanedEnds: number; // how many ends came of calls whose first records are lost
  crashed: OpenCall[] | null; // once the files have been read to their end
  delivered: boolean; // with its `finished`, the last entry
  carryAt: number; // open calls are not carried forward before then, since the disk refused
};

/** @param bytes at least the body's size */
export const bodyOf = async (
  run: JournalRun,
  spans: Spans,
  bytes: number,
): Promise<{ body: Uint8Array; whole: boolean }> => {
  const body = new Uint8Array(Buffer.allocUnsafeSlow(bytes).buffer); // all that is returned of it is overwritten
  let position: SpanPlace = { span: 0, offset: 0, loaded: 0 };
  while (position.span < spans.length) {
    if (position.loaded > 0) await immediately();
    const next = run.scan.load(spans, position, body, PIECE_BYTES);
    if (next === null) return { body: body.slice(0, position.loaded), whole: false };
    position = next;
  }
  return { body: body.subarray(0, position.loaded), whole: true };
};

/** The first segment of a run that must stay. */
export const firstNeeded = (run: JournalRun): number => {
  const [oldest] = run.open.values();
  const first = Math.min(run.scan.segment(), oldest?.segment ?? END_OF_RUN);
  return run.uncommitted.reduce((least, entry) => Math.min(least, entry.segment), first);
};

export const bodyBytes = (call: OpenCall): number => call.requestBytes + call.responseBytes;

/** Whether a call is complete although something was lost while it was open. A body that was cut before counts as it is. */
export function isWhole(call: OpenCall, closed: CallClosed): boolean {
  if (call.responseHead === null) return false;
  if (call.opened.keep === 'metadata') return true;
  const request = closed.cut === 'request' || closed.over_limit || call.requestBytes === closed.request_bytes;
  return request && (closed.cut === 'response' || call.responseBytes === closed.response_bytes);
}
