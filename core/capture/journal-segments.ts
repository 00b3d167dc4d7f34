/** The segments of a run that count, and where each of them ends: what a failed write or a carriage has made void is left out. */
import { parseJson } from '../parse-json.ts';
import { type SegmentFile, segmentsIn } from './journal-files.ts';
import { Continues, KIND, MAGIC, recordAt } from './journal-record.ts';
import type { SegmentReads } from './journal-windows.ts';

const FIRST_RECORD_BYTES = 256; // room for the magic and the first record

export type RunSegments = {
  folder: string;
  runId: string;
  live: boolean;
  reads: SegmentReads;
  writtenUpTo: Continues; // of a live run
  listed: SegmentFile[] | null; // of a dead run, which cannot grow
  carriedInto: number | null; // the segments before it are void; null: not determined yet
};

export const runSegments = (run: Pick<RunSegments, 'folder' | 'runId' | 'live' | 'reads'>): RunSegments => ({
  ...run,
  writtenUpTo: { segment: 0, byte_offset: 0 },
  listed: null,
  carriedInto: null,
});

/** Sets how far a live run is written; what is not behind the last such position changes nothing. */
export function extendWritten(run: RunSegments, segment: number, byteOffset: number): void {
  const { writtenUpTo } = run;
  const later =
    segment > writtenUpTo.segment || (segment === writtenUpTo.segment && byteOffset > writtenUpTo.byte_offset);
  if (later) run.writtenUpTo = { segment, byte_offset: byteOffset };
}

/** The process that wrote a live run has ended: the files hold all that there will be. */
export function endLive(run: RunSegments): void {
  run.live = false;
  run.listed = null; // it was listed while it could grow
}

/** In order. */
export function validSegments(run: RunSegments): SegmentFile[] {
  if (!run.live && run.listed) return run.listed;
  const all = segmentsIn(run.folder, run.runId);
  run.carriedInto ??= all.findLast(({ segment }) => continuesOf(run, segment)?.carried)?.segment ?? 0;
  const first = run.carriedInto;
  run.listed = all.filter(({ segment }) => segment >= first && (!run.live || segment <= run.writtenUpTo.segment));
  return run.listed;
}

/** The first record of a segment; null when it cannot be read. */
export function continuesOf({ reads }: RunSegments, segment: number): Continues | null {
  const bytes = Buffer.alloc(FIRST_RECORD_BYTES);
  const bytesRead = reads.readAt(segment, 0, bytes, bytes.length);
  const record = recordAt(bytes, MAGIC.byteLength, bytesRead);
  if (typeof record === 'string' || record.kind !== KIND.continues) return null;
  return Continues.safeParse(parsed(bytes.subarray(record.payload_at, record.end))).data ?? null;
}

/**
 * The end of a segment that is no longer written: as the next readable segment states it, else the end of its file. `written`: what
 * the next segment states, where the file is shorter than that.
 */
export function finalEnd(run: RunSegments, segment: number): { end: number; written: number | null } {
  const all = validSegments(run);
  const size = all.find((file) => file.segment === segment)?.bytes ?? 0;
  if (segment === run.carriedInto) return { end: size, written: null }; // the segments after it refer to the file that it replaced
  for (const later of all.filter((file) => file.segment > segment)) {
    const continues = continuesOf(run, later.segment);
    if (continues === null) continue;
    if (continues.segment > segment) return { end: size, written: null };
    const validEnd = continues.segment === segment ? continues.byte_offset : 0;
    return { end: Math.min(size, validEnd), written: size < validEnd ? validEnd : null };
  }
  return { end: size, written: null };
}

const parsed = (json: Buffer): unknown => {
  try {
    return parseJson(json.toString('utf8'));
  } catch {
    return null;
  }
};
