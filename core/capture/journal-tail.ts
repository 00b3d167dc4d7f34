/** The writer of a run's records: appends to the newest segment, and to a new one when that is full or has failed. */
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, stat, unlink } from 'node:fs/promises';
import { runFolder, segmentPath } from './journal-files.ts';
import { type Continues, KIND, MAGIC, recordOf } from './journal-record.ts';

/** Writes the buffers at a position. @returns how many bytes of them were written */
export type SegmentWrite = (handle: FileHandle, buffers: Uint8Array[], position: number) => Promise<number>;

export type Tail = {
  /**
   * Creates the first segment, so that the first call finds it there: making a file and its name durable can delay a write for
   * longer than a call may wait. @throws the disk's error
   */
  begin(): Promise<void>;
  /** Appends whole records. @throws the disk's error; then none of them counts, and all are to be appended again. */
  append(blocks: readonly Uint8Array[]): Promise<void>;
  /** The end of the valid records; segment 0 while nothing was written. */
  end(): Continues;
  /** The bytes that the run's files have taken on disk so far, torn ends included. */
  bytes(): number;
  /** Makes what was appended survive a loss of power. @throws the disk's error */
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
  let number = 0; // of the newest segment tried; the number of a failed one is not used again
  let validEnd: Continues = { segment: 0, byte_offset: 0 };
  let total = 0;
  let dirty = false;
  let empty = true;
  const background = new Set<Promise<void>>();

  const inBackground = (work: Promise<unknown>) => {
    const done = work.then(
      () => {},
      () => {},
    );
    background.add(done);
    void done.then(() => background.delete(done));
  };

  const create = async () => {
    number++;
    await mkdir(runFolder(folder, runId), { recursive: true, mode: 0o700 }); // the folder may have been deleted while it was empty
    const created = await open(segmentPath(folder, runId, number), 'wx', 0o600);
    inBackground(syncFolder(runFolder(folder, runId)));
    return created;
  };

  /** Truncates the file's torn end where the disk still allows it; where not, the next segment's first record voids it. */
  const abandon = async (failed: FileHandle, validBytes: number) => {
    handle = null;
    const sizeLeft = await failed
      .truncate(validBytes)
      .then(() => validBytes)
      .catch(async () => (await stat(segmentPath(folder, runId, number))).size)
      .catch(() => validBytes);
    await failed.close().catch(() => {});
    if (validBytes > 0) total += sizeLeft - validBytes;
    else
      await unlink(segmentPath(folder, runId, number)).catch(() => {
        total += sizeLeft;
      });
  };

  const append = async (blocks: readonly Uint8Array[]) => {
    if (handle && validEnd.byte_offset >= segmentBytes) {
      const full = handle;
      handle = null;
      inBackground(full.datasync().finally(() => full.close()));
    }
    const isNewSegment = handle === null;
    const position = isNewSegment ? 0 : validEnd.byte_offset;
    const buffers = isNewSegment
      ? [MAGIC, recordOf(KIND.continues, 0, Buffer.from(JSON.stringify(validEnd))), ...blocks]
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
    validEnd = { segment: number, byte_offset: position + bytes };
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
      if (syncing === handle) throw error; // otherwise it was closed meanwhile, and synced before that
    }
  };

  const close = async () => {
    await sync().catch(() => {});
    await Promise.all(background);
    await handle?.close().catch(() => {});
    handle = null;
    if (empty) await unlink(segmentPath(folder, runId, number)).catch(() => {});
  };

  return { begin, append, end: () => validEnd, bytes: () => total, sync, close };
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
      const consumed = Math.min(written, buffer.byteLength);
      written -= consumed;
      return consumed === buffer.byteLength ? [] : [buffer.subarray(consumed)];
    });
  }
}
