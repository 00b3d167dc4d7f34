/** The calls of a run, put together again out of its records: what each record adds, and what is delivered at the end of a call. */
import type { z } from 'zod';
import type { Logger } from '../log.ts';
import { parseJson } from '../parse-json.ts';
import {
  CallClosed,
  CallOpened,
  type JournalCall,
  type JournalPosition,
  OutcomeRecord,
  ResponseHead,
} from './journal-format.ts';
import { KIND } from './journal-record.ts';
import { bodyBytes, bodyOf, END_OF_RUN, isWhole, type JournalRun, type OpenCall } from './journal-run.ts';
import type { ScannedRecord } from './journal-scan.ts';
import { extended } from './journal-spans.ts';

/** `position` is the one behind the entry. A call whose bytes are incomplete has `closed: null`, as has one that was never closed. */
export type JournalEntry = { position: JournalPosition } & (
  | { kind: 'call'; call: JournalCall }
  | { kind: 'counted'; counted: OutcomeRecord }
  | { kind: 'finished' } // the run has no more entries
);

/** The entries of one read, and how many bytes of bodies still fit in. */
export type Delivery = { entries: JournalEntry[]; room: number; log: Logger };

/** Applies a record that does not end a call. */
export function applyRecord(run: JournalRun, record: ScannedRecord, log: Logger): void {
  const { kind, segment, call: number } = record;
  run.highestCall = Math.max(run.highestCall, number);
  const call = run.open.get(number);
  if (kind === KIND.opened) {
    const opened = parsed(CallOpened, run, record, log);
    if (opened) run.open.set(number, newCall(number, segment, opened));
  } else if (kind === KIND.requestBytes && call) call.requestBytes += extended(call.requestSpans, record);
  else if (kind === KIND.responseBytes && call) call.responseBytes += extended(call.responseSpans, record);
  else if (kind === KIND.responseHead && call) {
    call.responseHead = parsed(ResponseHead, run, record, log);
    call.doubtful ||= call.responseHead === null;
  }
}

const newCall = (number: number, segment: number, opened: CallOpened): OpenCall => ({
  number,
  segment,
  opened,
  responseHead: null,
  requestSpans: [],
  requestBytes: 0,
  responseSpans: [],
  responseBytes: 0,
  doubtful: false,
});

/** A record of kind `closed` or `counted`. @returns false when the call does not fit in the read and stays for the next one */
export async function takeEnd(run: JournalRun, record: ScannedRecord, delivery: Delivery): Promise<boolean> {
  const position = { run_id: run.run_id, segment: record.segment, byte_offset: record.end, finished: false };
  const call = run.open.get(record.call);
  if (!isBehind(position, run.stored)) {
    if (record.kind === KIND.closed) run.open.delete(record.call);
    run.scan.advance();
  } else if (record.kind === KIND.counted) {
    const counted = parsed(OutcomeRecord, run, record, delivery.log);
    if (counted) run.uncommitted.push({ position, segment: record.segment, ended: counted.at });
    if (counted) delivery.entries.push({ position, kind: 'counted', counted });
    run.scan.advance();
  } else if (!call) {
    run.orphanedEnds++;
    run.scan.advance();
  } else {
    if (!fits(delivery, call)) return false;
    const closed = parsed(CallClosed, run, record, delivery.log);
    await deliver(run, delivery, call, closed, position);
    run.scan.advance();
  }
  return true;
}

/** The next crashed call of a dead run whose files have been read to their end, or the run's `finished`. @returns as `takeEnd` */
export async function takeEndOfRun(run: JournalRun, delivery: Delivery): Promise<boolean> {
  const taken = run.stored.segment === END_OF_RUN ? run.stored.byte_offset : 0;
  run.crashed ??= [...run.open.values()].filter((call) => call.number > taken).sort((a, b) => a.number - b.number);
  const position = {
    run_id: run.run_id,
    segment: END_OF_RUN,
    byte_offset: Math.max(run.highestCall, taken) + 1,
    finished: true,
  };
  const [call] = run.crashed;
  if (!call) {
    delivery.entries.push({ position, kind: 'finished' });
    run.delivered = true;
    return true;
  }
  if (!fits(delivery, call)) return false;
  await deliver(run, delivery, call, null, { ...position, byte_offset: call.number, finished: false });
  run.crashed.shift();
  return true;
}

/** The first call of a read fits always, however large it is. */
const fits = ({ entries, room }: Delivery, call: OpenCall): boolean => entries.length === 0 || bodyBytes(call) <= room;

/**
 * Delivers a call with its bodies, unless the request was over the limit: such a call is only counted, and its partial body is the
 * largest that there is. The call counts as open until its bodies are read, so its files stay while this waits.
 * @throws the disk's error; nothing is delivered then, and it is to be called again
 */
async function deliver(
  run: JournalRun,
  delivery: Delivery,
  call: OpenCall,
  closed: CallClosed | null,
  position: JournalPosition,
): Promise<void> {
  const { opened, responseHead } = call;
  const copy = await copyOf(run, call, closed);
  run.open.delete(call.number);
  const ended = closed?.last_byte_at ?? responseHead?.first_byte_at ?? opened.requested_at; // the last known time of the call
  run.uncommitted.push({ position, segment: call.segment, ended });
  delivery.room -= bodyBytes(call);
  delivery.entries.push({ position, kind: 'call', call: copy });
}

async function copyOf(run: JournalRun, call: OpenCall, closed: CallClosed | null): Promise<JournalCall> {
  const { opened, responseHead } = call;
  const intact = !call.doubtful || (closed !== null && isWhole(call, closed));
  const empty = new Uint8Array();
  if (intact && closed?.over_limit) return { opened, request: empty, responseHead, response: empty, closed };
  const request = await bodyOf(run, call.requestSpans, call.requestBytes);
  const response = await bodyOf(run, call.responseSpans, call.responseBytes);
  const whole = request.whole && response.whole && intact;
  return { opened, request: request.body, responseHead, response: response.body, closed: whole ? closed : null };
}

/** Whether a position lies behind another of the same run. */
export const isBehind = (a: JournalPosition, b: JournalPosition): boolean =>
  a.segment > b.segment || (a.segment === b.segment && a.byte_offset > b.byte_offset);

function parsed<Schema extends z.ZodType>(
  schema: Schema,
  run: JournalRun,
  record: ScannedRecord,
  log: Logger,
): z.infer<Schema> | null {
  try {
    const { buffer, byteOffset, byteLength } = record.payload;
    return schema.parse(parseJson(Buffer.from(buffer, byteOffset, byteLength).toString('utf8')));
  } catch {
    const position = { run_id: run.run_id, segment: record.segment, byte_offset: record.start };
    log.warn({ ...position, record_kind: record.kind }, 'Cannot understand a journal record: it is not of its kind');
    return null;
  }
}
