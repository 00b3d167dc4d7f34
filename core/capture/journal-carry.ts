/**
 * Carries open calls forward, so that the segments they began in can be deleted. What such a call has recorded so far is copied into
 * the last of those segments, in place of all that it held; the segments before it can then be deleted. Without this, one call of an
 * hour beside heavy traffic would fill the journal to its cap.
 *
 * The new file gets its name in one step, so a crash leaves either the old segments or the new one. Its `continues` has `carried` set:
 * everything before it is void from then on.
 */
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { carriagePath, runFolder, type SegmentFile, segmentPath, segmentsIn } from './journal-files.ts';
import { type Continues, KIND, MAGIC, type RecordKind, recordOf } from './journal-record.ts';
import { bodyBytes, bodyOf, type JournalRun, type OpenCall } from './journal-run.ts';
import { cutAfter, type Spans } from './journal-spans.ts';
import { syncFolder } from './journal-tail.ts';

const BODY_RECORD_BYTES = 262_144; // the longest record of body bytes
const HELD_SEGMENTS = 3; // open calls are carried forward once they hold so many
const GAIN = 2; // the segments must hold more than so many times the bytes to be copied

type Carried = Pick<OpenCall, 'number' | 'opened' | 'responseHead'>;

type Carriage = {
  /** Copies what the call has recorded so far. @returns where its bodies are once the file is in place */
  add(
    call: Carried,
    requestBody: Uint8Array,
    responseBody: Uint8Array,
  ): Promise<{ requestSpans: Spans; responseSpans: Spans }>;
  /** Renames the new file over the segment, whose old content is gone then. @returns the new file's bytes */
  replace(): Promise<number>;
  /** Deletes the new file, after any failure. */
  discard(): Promise<void>;
};

/** @param into the segment that is replaced @throws the disk's error, as do `add` and `replace` */
async function openCarriage(folder: string, runId: string, into: number): Promise<Carriage> {
  const path = carriagePath(folder, runId);
  const handle: FileHandle = await open(path, 'w', 0o600);
  let bytes = 0;

  const write = async (buffer: Uint8Array) => {
    await handle.appendFile(buffer);
    bytes += buffer.byteLength;
  };
  const writeBody = async (kind: RecordKind, number: number, body: Uint8Array): Promise<Spans> => {
    const start = bytes;
    for (let at = 0; at < body.byteLength; at += BODY_RECORD_BYTES)
      await write(recordOf(kind, number, body.subarray(at, at + BODY_RECORD_BYTES)));
    return bytes > start ? [into, start, bytes] : [];
  };
  const writeJson = (kind: RecordKind, number: number, value: unknown) =>
    write(recordOf(kind, number, Buffer.from(JSON.stringify(value))));

  const carriage: Carriage = {
    add: async ({ number, opened, responseHead }, requestBody, responseBody) => {
      await writeJson(KIND.opened, number, opened);
      const requestSpans = await writeBody(KIND.requestBytes, number, requestBody);
      if (responseHead) await writeJson(KIND.responseHead, number, responseHead);
      return { requestSpans, responseSpans: await writeBody(KIND.responseBytes, number, responseBody) };
    },
    replace: async () => {
      await handle.sync();
      await handle.close();
      await rename(path, segmentPath(folder, runId, into));
      return bytes;
    },
    discard: async () => {
      await handle.close().catch(() => {});
      await rm(path, { force: true }).catch(() => {});
    },
  };
  try {
    const nothingBefore: Continues = { segment: 0, byte_offset: 0, carried: true };
    await write(MAGIC);
    await writeJson(KIND.continues, 0, nothingBefore);
    return carriage;
  } catch (error) {
    await carriage.discard();
    throw error;
  }
}

/**
 * The last segment out of which open calls may be carried forward now; 0: none. Not while an entry is uncommitted: a reader that begins
 * again at the stored position needs the segments from its call's first record to its last.
 */
export const heldUpTo = (folder: string, run: JournalRun): number =>
  run.uncommitted.length > 0 ? 0 : worthCarrying(folder, run);

/** The last segment out of which it pays to carry open calls forward; 0: none. Damage is not carried: it would go unnoticed. */
const worthCarrying = (folder: string, run: JournalRun): number => {
  const [oldest] = run.open.values();
  if (!run.live || !oldest || performance.now() < run.carryAt) return 0;
  if (run.scan.segment() - oldest.segment < HELD_SEGMENTS) return 0;
  const into = run.scan.before();
  const heldSegments = segmentsIn(folder, run.run_id).filter(({ segment }) => segment <= into);
  if (heldSegments.length < HELD_SEGMENTS || heldSegments.at(-1)?.segment !== into) return 0;
  const heldBytes = heldSegments.reduce((sum, { bytes }) => sum + bytes, 0);
  const open = [...run.open.values()].filter(({ segment }) => segment <= into);
  const carriedBytes = open.reduce((sum, call) => sum + bodyBytes(call), 0);
  return carriedBytes * GAIN < heldBytes && !open.some(({ doubtful }) => doubtful) ? into : 0;
};

/** Whether open calls would be carried forward if all that was delivered of the run were committed. */
export const carriesOnceCommitted = (folder: string, run: JournalRun): boolean =>
  run.uncommitted.length > 0 && worthCarrying(folder, run) > 0;

/** @returns by how many bytes the segment's file has shrunk; negative where it has grown */
export const carry = async (
  folder: string,
  run: JournalRun,
  { segment: into, bytes }: SegmentFile,
): Promise<number> => {
  const carriage = await openCarriage(folder, run.run_id, into);
  try {
    const updates: (() => void)[] = [];
    for (const call of run.open.values()) {
      if (call.segment > into) continue;
      const [requestSpans, laterRequestSpans] = cutAfter(call.requestSpans, into);
      const [responseSpans, laterResponseSpans] = cutAfter(call.responseSpans, into);
      const request = await bodyOf(run, requestSpans, call.requestBytes);
      const response = await bodyOf(run, responseSpans, call.responseBytes);
      if (!request.whole || !response.whole) throw new Error('Cannot read what an open call has said');
      const carried = await carriage.add(call, request.body, response.body);
      const location = {
        segment: into,
        requestSpans: [...carried.requestSpans, ...laterRequestSpans],
        responseSpans: [...carried.responseSpans, ...laterResponseSpans],
      };
      updates.push(() => Object.assign(call, location));
    }
    const size = await carriage.replace();
    for (const update of updates) update();
    run.scan.carried(into);
    await syncFolder(runFolder(folder, run.run_id)); // before any other file of the run may be deleted
    return bytes - size;
  } catch (error) {
    await carriage.discard();
    throw error;
  }
};
