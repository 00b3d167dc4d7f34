/**
 * The journal: keeps a copy of each call while its bytes pass, by appending to files that outlive the process and need no database.
 *
 * All of it runs on the listeners' thread, so nothing here blocks and nothing throws at a caller. Records are gathered in memory
 * and written within a few milliseconds, one write at a time. Chunks are copied on the way in: the caller may reuse
 * its buffer at once, and a chunk of 60 bytes does not retain the 64 KB socket buffer that it is a view of.
 * What a failing disk refuses stays in memory, up to a bound, and is written again in a new segment once the disk has recovered.
 */
import { chmod, mkdir, rmdir } from 'node:fs/promises';
import { v7 } from 'uuid';
import { OperatorError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { runFolder, runsIn, segmentsIn } from './journal-files.ts';
import type { CallClosed, CallOpened, OutcomeRecord, ResponseHead } from './journal-format.ts';
import {
  beginRecord,
  KIND,
  MAX_PAYLOAD_BYTES,
  RECORD_HEADER_BYTES,
  type RecordKind,
  sealRecords,
} from './journal-record.ts';
import { openTail, type SegmentWrite, syncFolder, writeSegment } from './journal-tail.ts';

const SEGMENTS_AT_LEAST = 8; // in a full journal: only whole segments are ever deleted, so a single one would keep it full for good
const BLOCK_BYTES = 262_144; // also the longest record of body bytes
const BLOCKS_A_WRITE = 16;
const SPARE_BLOCKS = 16;
const BATCH_MS = 8;
const RETRY_MS = 1000;
const SYNC_MS = 1000;
const REPORT_INTERVAL_MS = 60_000;
const HEADS_RESERVE_BYTES = 16_777_216; // heads and outcomes of calls may exceed the caps by this; their bodies may not
const CLOSED_RESERVE_BYTES = 512; // reserved for each open call, so that its end always finds room

/** The copy of one call. Its methods never throw and never block. */
export type CallCopy = {
  /** A chunk of the request's body. False: it could not be stored, and neither will what follows it. */
  requestBytes(bytes: Uint8Array): boolean;
  responseHead(head: ResponseHead): void;
  /** A chunk of the response's body. False: it could not be stored, and neither will what follows it. */
  responseBytes(bytes: Uint8Array): boolean;
  /** The end, once. A copy that is known to be incomplete is recorded as cut, whatever the argument says. */
  close(closed: CallClosed): void;
};

export type Journal = {
  runId: string;
  /** Begins a copy; its record is on its way to the disk when this returns. Null: full or failing, and the caller books `journal_full`. */
  open(opened: CallOpened): CallCopy | null;
  /** Records a request of which only the outcome is stored. */
  recordOutcome(counted: OutcomeRecord): void;
  /** Bytes on disk, of all runs. */
  bytes(): number;
  /** Calls begun since the start. */
  calls(): number;
  /** Resolves when all that was appended before is written, or when the disk has refused it once more. */
  flush(): Promise<void>;
  /**
   * Calls the listener with the journal's end after each write, and whether that write held the end of a call; and at once with the
   * current end. Returns the function that removes the listener.
   */
  onWritten(listener: WrittenListener): () => void;
  /** Reports that the reader has deleted segments of that many bytes. */
  freed(bytes: number): void;
  /** Writes and syncs what is left. Afterwards nothing is recorded any more. */
  close(): Promise<void>;
};

export type JournalOptions = {
  folder: string;
  maxBytes: number; // of all runs on disk
  segmentBytes?: number; // the size at which the next batch begins a new segment
  pendingBytes?: number; // in memory and not yet on disk
  log: Logger;
  write?: SegmentWrite;
};

type WrittenListener = (segment: number, byteOffset: number, ended: boolean) => void;

type Block = { bytes: Buffer; used: number; ended: boolean };

/**
 * Begins a run: a folder of its own, under an id that no earlier run has. No other process may write below `folder` meanwhile.
 * @throws {OperatorError} the folder cannot be made
 */
export async function openJournal({
  folder,
  maxBytes,
  segmentBytes = Math.min(67_108_864, Math.ceil(maxBytes / SEGMENTS_AT_LEAST)),
  pendingBytes = 16_777_216,
  log,
  write = writeSegment,
}: JournalOptions): Promise<Journal> {
  const runId = v7();
  const tail = openTail({ folder, runId, segmentBytes, write });
  let earlierRunsBytes = runsIn(folder)
    .flatMap((run) => segmentsIn(folder, run))
    .reduce((sum, file) => sum + file.bytes, 0);
  try {
    await mkdir(runFolder(folder, runId), { recursive: true, mode: 0o700 });
    await chmod(folder, 0o700);
    await syncFolder(folder);
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? 'unknown';
    throw new OperatorError(`Cannot keep a journal in "${folder}": ${reason}`, 1, { cause: error });
  }
  await tail.begin().catch((error: NodeJS.ErrnoException) => {
    log.error(
      { code: error.code },
      'Cannot begin the journal: the disk refuses; it is tried again with the first call',
    );
  });

  const listeners = new Set<WrittenListener>();
  const mutedUntil = new Map<string, number>();
  const spare: Block[] = [];
  const sealed: Block[] = [];
  let filling: Block | null = null;
  let pending = 0; // bytes of records appended and not yet written
  let appended = 0; // the same since the start, written or not
  let written = 0;
  let lastCall = 0;
  let openCalls = 0;
  let failing = false;
  let closed = false;
  let timer: NodeJS.Timeout | null = null;
  let draining: Promise<boolean> | null = null;
  let syncing: Promise<void> | null = null;

  const onDisk = () => earlierRunsBytes + tail.bytes();

  const reportError = (message: string, code?: string) => {
    if (performance.now() < (mutedUntil.get(message) ?? 0)) return;
    mutedUntil.set(message, performance.now() + REPORT_INTERVAL_MS);
    log.error({ code, on_disk_bytes: onDisk(), pending_bytes: pending }, message);
  };

  const hasRoom = (bytes: number, reserve = 0): boolean => {
    const fitsMemory = pending + bytes <= pendingBytes + reserve;
    const heldBytes = onDisk() + pending + openCalls * CLOSED_RESERVE_BYTES;
    const fitsDisk = heldBytes + bytes <= maxBytes + reserve;
    if (!fitsDisk) reportError('Cannot keep all copies: the journal is full');
    else if (!fitsMemory) reportError('Cannot keep all copies: the disk is too slow or failing');
    return fitsMemory && fitsDisk;
  };

  // Appending

  const sealFilling = () => {
    if (filling && filling.used > 0) {
      sealRecords(filling.bytes, 0, filling.used);
      sealed.push(filling);
      filling = null;
    }
  };

  const blockWithRoom = (bytes: number): Block => {
    if (filling && filling.used + bytes <= filling.bytes.length) return filling;
    sealFilling();
    filling = spare.pop() ?? { bytes: Buffer.allocUnsafeSlow(BLOCK_BYTES), used: 0, ended: false };
    if (bytes > filling.bytes.length) filling = { bytes: Buffer.allocUnsafeSlow(bytes), used: 0, ended: false };
    return filling;
  };

  const append = (kind: RecordKind, call: number, payload: Uint8Array | string, payloadBytes: number) => {
    const bytes = RECORD_HEADER_BYTES + payloadBytes;
    const block = blockWithRoom(bytes);
    const at = block.used + RECORD_HEADER_BYTES;
    if (typeof payload === 'string') block.bytes.write(payload, at, 'utf8');
    else block.bytes.set(payload, at);
    block.used = beginRecord(block.bytes, block.used, kind, call, payloadBytes);
    block.ended ||= kind === KIND.closed || kind === KIND.counted;
    pending += bytes;
    appended += bytes;
    if (sealed.length > 0 && !failing) void startDrain();
    else scheduleDrain();
  };

  /** @returns false when there is no room for it */
  const appendJson = (kind: RecordKind, call: number, value: unknown, reserve: number): boolean => {
    const text = JSON.stringify(value);
    const bytes = Buffer.byteLength(text);
    if (bytes > MAX_PAYLOAD_BYTES || !hasRoom(RECORD_HEADER_BYTES + bytes, reserve)) return false;
    append(kind, call, text, bytes);
    return true;
  };

  const appendChunk = (kind: RecordKind, call: number, chunk: Uint8Array): boolean => {
    const maxPayload = BLOCK_BYTES - RECORD_HEADER_BYTES;
    if (!hasRoom(chunk.byteLength + Math.ceil(chunk.byteLength / maxPayload) * RECORD_HEADER_BYTES)) return false;
    for (let at = 0; at < chunk.byteLength; at += maxPayload) {
      const piece = chunk.byteLength <= maxPayload ? chunk : chunk.subarray(at, at + maxPayload);
      append(kind, call, piece, piece.byteLength);
    }
    return true;
  };

  // Writing

  const scheduleDrain = () => {
    if (timer || draining || closed) return;
    timer = setTimeout(() => void startDrain(), failing ? RETRY_MS : BATCH_MS);
  };

  const startDrain = (): Promise<boolean> => {
    if (timer) clearTimeout(timer);
    timer = null;
    draining ??= drain().finally(() => {
      draining = null;
      if (pending > 0) scheduleDrain();
    });
    return draining;
  };

  /** Writes the full blocks, and those that fill up meanwhile. False when the disk refuses; then all of it stays for the next attempt. */
  const drain = async (): Promise<boolean> => {
    if (sealed.length === 0) sealFilling(); // not on each attempt of an outage: each would use up a block
    while (sealed.length > 0) {
      const batch = sealed.slice(0, BLOCKS_A_WRITE);
      try {
        await tail.append(batch.map((block) => block.bytes.subarray(0, block.used)));
      } catch (error) {
        failing = true;
        reportError('Cannot write the journal: the disk refuses', (error as NodeJS.ErrnoException).code);
        return false;
      }
      sealed.splice(0, batch.length);
      const ended = batch.some((block) => block.ended);
      for (const block of batch) {
        pending -= block.used;
        written += block.used;
        block.used = 0;
        block.ended = false;
        if (spare.length < SPARE_BLOCKS && block.bytes.length === BLOCK_BYTES) spare.push(block);
      }
      if (failing) log.info('The journal is being written again');
      failing = false;
      for (const listener of listeners) notify(listener, ended);
    }
    return true;
  };

  const notify = (listener: WrittenListener, ended: boolean) => {
    const { segment, byte_offset } = tail.end();
    try {
      if (segment > 0) listener(segment, byte_offset, ended);
    } catch (error) {
      log.error({ err: error }, 'Cannot tell where the journal ends: its listener failed');
    }
  };

  const flush = async () => {
    for (const target = appended; written < target; ) if (!(await startDrain())) return;
  };

  const syncTimer = setInterval(() => {
    syncing ??= tail
      .sync()
      .catch((error) => reportError('Cannot sync the journal: the disk refuses', (error as NodeJS.ErrnoException).code))
      .finally(() => {
        syncing = null;
      });
  }, SYNC_MS).unref();

  // Calls

  const open = (opened: CallOpened): CallCopy | null => {
    if (closed || failing) return null;
    const call = lastCall + 1;
    if (!appendJson(KIND.opened, call, opened, -CLOSED_RESERVE_BYTES)) return null;
    lastCall = call;
    openCalls++;
    const keepsBodies = opened.keep === 'full';
    let ended = false;
    let requestCut = false;
    let responseCut = false;
    return {
      requestBytes: (bytes) => {
        if (!keepsBodies || bytes.byteLength === 0) return true;
        requestCut ||= ended || closed || !appendChunk(KIND.requestBytes, call, bytes);
        return !requestCut;
      },
      responseHead: (head) => {
        responseCut ||= ended || closed || !appendJson(KIND.responseHead, call, head, HEADS_RESERVE_BYTES);
      },
      responseBytes: (bytes) => {
        if (!keepsBodies || bytes.byteLength === 0) return true;
        responseCut ||= ended || closed || !appendChunk(KIND.responseBytes, call, bytes);
        return !responseCut;
      },
      close: (end) => {
        if (ended || closed) return;
        ended = true;
        openCalls--;
        const cut = requestCut ? 'request' : responseCut ? 'response' : 'none';
        const text = JSON.stringify(end.cut === 'none' ? { ...end, cut } : end);
        append(KIND.closed, call, text, Buffer.byteLength(text)); // its room was reserved when it was opened
      },
    };
  };

  const recordOutcome = (counted: OutcomeRecord) => {
    if (closed || !appendJson(KIND.counted, 0, counted, HEADS_RESERVE_BYTES))
      reportError('Cannot book all requests: no room is left');
  };

  const close = async () => {
    if (closed) return;
    closed = true;
    await flush();
    if (timer) clearTimeout(timer);
    clearInterval(syncTimer);
    if (pending > 0) log.error({ lost_bytes: pending }, 'Cannot write the journal to its end: the disk refuses');
    await syncing;
    await tail.close();
    await rmdir(runFolder(folder, runId)).catch(() => {}); // only where nothing was ever written
  };

  return {
    runId,
    open,
    recordOutcome,
    bytes: onDisk,
    calls: () => lastCall,
    flush,
    onWritten: (listener) => {
      listeners.add(listener);
      notify(listener, false);
      return () => listeners.delete(listener);
    },
    freed: (bytes) => {
      earlierRunsBytes -= bytes;
    },
    close,
  };
}
