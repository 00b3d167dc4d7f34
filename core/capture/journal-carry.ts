/**
 * How do calls that stay open let go of the segments they began in? What they said there is carried into the last of those, in place of
 * all that it held; the others can go then. Without it one call of an hour beside heavy traffic would fill the journal to its cap.
 *
 * The new file takes its name in one step, so a crash leaves either the old segments or the new one. Its `continues` says `carried`:
 * whatever stands before it is void from then on.
 */
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { carriagePath, runFolder, type SegmentFile, segmentPath, segmentsIn } from './journal-files.ts';
import { type Continues, KIND, MAGIC, type RecordKind, recordOf } from './journal-record.ts';
import { bodyBytes, bodyOf, type OpenCall, type Run } from './journal-run.ts';
import type { Spans } from './journal-scan.ts';
import { syncFolder } from './journal-tail.ts';

const PIECE_BYTES = 262_144; // of a body, a record
const HELD_SEGMENTS = 3; // by open calls: fewer may stay
const GAIN = 2; // more bytes have to go for one that is written again

type Carried = Pick<OpenCall, 'number' | 'opened' | 'answered'>;

type Carriage = {
  /** What the call has said so far. @returns where its bodies stand once the carriage has arrived */
  add(call: Carried, asked: Uint8Array, replied: Uint8Array): Promise<{ asked: Spans; replied: Spans }>;
  /** Puts it in the segment's place; nothing of the old file is there any more. @returns its bytes */
  arrive(): Promise<number>;
  /** After any failure, so that nothing is left of it. */
  discard(): Promise<void>;
};

/** @param into the segment whose place it takes @throws whatever the disk said, as all that it does */
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
    for (let at = 0; at < body.byteLength; at += PIECE_BYTES)
      await write(recordOf(kind, number, body.subarray(at, at + PIECE_BYTES)));
    return bytes > start ? [into, start, bytes] : [];
  };
  const writeJson = (kind: RecordKind, number: number, value: unknown) =>
    write(recordOf(kind, number, Buffer.from(JSON.stringify(value))));

  const carriage: Carriage = {
    add: async ({ number, opened, answered }, asked, replied) => {
      await writeJson(KIND.opened, number, opened);
      const askedAt = await writeBody(KIND.asked, number, asked);
      if (answered) await writeJson(KIND.answered, number, answered);
      return { asked: askedAt, replied: await writeBody(KIND.replied, number, replied) };
    },
    arrive: async () => {
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

/** The last segment out of which it pays to carry open calls forward; 0: it does not. Damage is not carried: it would not be seen again. */
export const heldUpTo = (folder: string, run: Run): number => {
  const [oldest] = run.open.values();
  if (!run.live || !oldest || run.uncommitted.length > 0 || performance.now() < run.carryAt) return 0;
  if (run.scan.segment() - oldest.segment < HELD_SEGMENTS) return 0;
  const into = run.scan.before();
  const held = segmentsIn(folder, run.run_id).filter(({ segment }) => segment <= into);
  if (held.length < HELD_SEGMENTS || held.at(-1)?.segment !== into) return 0;
  const heldBytes = held.reduce((sum, { bytes }) => sum + bytes, 0);
  const open = [...run.open.values()].filter(({ segment }) => segment <= into);
  const carriedBytes = open.reduce((sum, call) => sum + bodyBytes(call), 0);
  return carriedBytes * GAIN < heldBytes && !open.some(({ doubtful }) => doubtful) ? into : 0;
};

/** @returns what the segment's file has lost or, where it has grown, gained (negative) */
export const carry = async (folder: string, run: Run, { segment: into, bytes }: SegmentFile): Promise<number> => {
  const carriage = await openCarriage(folder, run.run_id, into);
  try {
    const moved: (() => void)[] = [];
    for (const call of run.open.values()) {
      if (call.segment > into) continue;
      const [asked, askedLater] = cutAfter(call.asked, into);
      const [replied, repliedLater] = cutAfter(call.replied, into);
      const request = await bodyOf(run, asked, call.askedBytes);
      const response = await bodyOf(run, replied, call.repliedBytes);
      if (!request.whole || !response.whole) throw new Error('Cannot read what an open call has said');
      const at = await carriage.add(call, request.body, response.body);
      const place = { segment: into, asked: [...at.asked, ...askedLater], replied: [...at.replied, ...repliedLater] };
      moved.push(() => Object.assign(call, place));
    }
    const size = await carriage.arrive();
    for (const move of moved) move();
    run.scan.carried(into);
    await syncFolder(runFolder(folder, run.run_id)); // before anything else of the run may go
    return bytes - size;
  } catch (error) {
    await carriage.discard();
    throw error;
  }
};

/** Those in segments up to that one, and the others. */
function cutAfter(spans: Spans, segment: number): [Spans, Spans] {
  const later = spans.findIndex((at, i) => i % 3 === 0 && at > segment);
  return later < 0 ? [spans, []] : [spans.slice(0, later), spans.slice(later)];
}
