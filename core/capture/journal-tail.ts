/** How do records reach the disk? By appending to a run's newest segment, and in a new one when that is full or has failed. */
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, stat, unlink } from 'node:fs/promises';
import { runFolder, segmentPath } from './journal-files.ts';
import { type Continues, KIND, MAGIC, recordOf } from './journal-record.ts';

/** Writes the buffers at a position. @returns how many bytes of them were written */
export type SegmentWrite = (handle: FileHandle, buffers: Uint8Array[], position: number) => Promise<number>;

export type Tail = {
  /**
   * Makes the first segment, so that the first call finds it there: making a file and its name durable can hold up a write
   * for longer than a call may wait. @throws whatever the disk said
   */
  begin(): Promise<void>;
  /** Appends whole records. @throws whatever the disk said; then none of them counts, and all are to be appended again. */
  append(blocks: readonly Uint8Array[]): Promise<void>;
  /** The end of what counts; segment 0 while nothing was written. */
  end(): Continues;
  /** What the run's files have taken on disk so far, torn ends included. */
  bytes(): number;
  /** Makes what was appended survive a loss of power. @throws whatever the disk said */
  sync(): Promise<void>;
  /** Syncs and closes; a run in which nothing was appended leaves no file. Never throws. */
  close(): Promise<void>;
};

type Options = { folder: string; runId: string; segmentBytes: number; write: SegmentWrite };

export const writeSegment: SegmentWrite = async (handle, buffers, position) =>
  (await handle.writev(buffers, position)).bytesWritten;

/** One append at a time; a sync may run beside it. */
export function openTail({ folder, runId, segmentBytes, write }: Options): Tail {
  let handle: FileHandle | null = null;
  let number = 0; // of the newest segment tried; a failed one keeps its number
  let good: Continues = { segment: 0, byte_offset: 0 };
  let total = 0;
  let dirty = false;
  let empty = true;
  const background = new Set<Promise<void>>();

  const behind = (work: Promise<unknown>) => {
    const done = work.then(
      () => {},
      () => {},
    );
    background.add(done);
    void done.then(() => background.delete(done));
  };

  const create = async () => {
    number++;
    await mkdir(runFolder(folder, runId), { recursive: true, mode: 0o700 }); // somebody may have tidied it away
    const created = await open(segmentPath(folder, runId, number), 'wx', 0o600);
    behind(syncFolder(runFolder(folder, runId)));
    return created;
  };

  /** The file's torn end is cut off where the disk still lets us; where not, the next segment's first record voids it. */
  const abandon = async (failed: FileHandle, kept: number) => {
    handle = null;
    const left = await failed
      .truncate(kept)
      .then(() => kept)
      .catch(async () => (await stat(segmentPath(folder, runId, number))).size)
      .catch(() => kept);
    await failed.close().catch(() => {});
    if (kept > 0) total += left - kept;
    else
      await unlink(segmentPath(folder, runId, number)).catch(() => {
        total += left;
      });
  };

  const append = async (blocks: readonly Uint8Array[]) => {
    if (handle && good.byte_offset >= segmentBytes) {
      const full = handle;
      handle = null;
      behind(full.datasync().finally(() => full.close()));
    }
    const begun = handle === null;
    const position = begun ? 0 : good.byte_offset;
    const buffers = begun
      ? [MAGIC, recordOf(KIND.continues, 0, Buffer.from(JSON.stringify(good))), ...blocks]
      : [...blocks];
    const bytes = buffers.reduce((sum, buffer) => sum + buffer.byteLength, 0);
    handle ??= await create();
    const writing = handle;
    try {
      await writeAll(write, writing, buffers, position);
    } catch (error) {
      await abandon(writing, position);
      throw error;
    }
    good = { segment: number, byte_offset: position + bytes };
    total += bytes;
    dirty = true;
    empty &&= blocks.length === 0;
  };

  const begin = async () => {
    await append([]);
    await sync();
    await Promise.all(background);
  };

  const sync = async () => {
    if (!dirty || handle === null) return;
    dirty = false;
    const syncing = handle;
    try {
      await syncing.datasync();
    } catch (error) {
      if (syncing === handle) throw error; // otherwise it was retired meanwhile, and synced on its way out
    }
  };

  const close = async () => {
    await sync().catch(() => {});
    await Promise.all(background);
    await handle?.close().catch(() => {});
    handle = null;
    if (empty) await unlink(segmentPath(folder, runId, number)).catch(() => {});
  };

  return { begin, append, end: () => good, bytes: () => total, sync, close };
}

/** Makes new names in a folder survive a loss of power. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY);
  await folder.sync().finally(() => folder.close());
}

async function writeAll(
  write: SegmentWrite,
  handle: FileHandle,
  buffers: readonly Uint8Array[],
  position: number,
): Promise<void> {
  let left = [...buffers];
  let at = position;
  while (left.length > 0) {
    let written = await write(handle, left, at);
    if (written <= 0) throw new Error('Cannot write the journal: the disk took nothing');
    at += written;
    left = left.flatMap((buffer) => {
      const gone = Math.min(written, buffer.byteLength);
      written -= gone;
      return gone === buffer.byteLength ? [] : [buffer.subarray(gone)];
    });
  }
}
