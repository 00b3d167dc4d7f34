/**
 * The writing of the journal's blocks to disk: within a few milliseconds of the first record, one write at a time. What a failing
 * disk refuses stays in memory and is written again in a new segment once the disk has recovered.
 */
import type { Logger } from '../log.ts';
import { type Blocks, dropWritten, sealFilling } from './journal-blocks.ts';
import type { Tail } from './journal-tail.ts';

const BLOCKS_A_WRITE = 16;
const BATCH_MS = 8;
const RETRY_MS = 1000;
const SYNC_MS = 1000;

export type WrittenListener = (segment: number, byteOffset: number, ended: boolean) => void;

export type JournalWriter = {
  /** Reports that records were added to the blocks: they are written soon, and at once where a block is full. */
  added(): void;
  /** True from a write that the disk refused until one that it takes. */
  failing(): boolean;
  /** Resolves when all that was appended before is written, or when the disk has refused it once more. */
  flush(): Promise<void>;
  onWritten(listener: WrittenListener): () => void;
  /** Writes and syncs what is left. Nothing may be added afterwards. */
  close(): Promise<void>;
};

type Options = {
  blocks: Blocks;
  tail: Tail;
  log: Logger;
  reportError: (message: string, code?: string) => void;
};

export function openJournalWriter({ blocks, tail, log, reportError }: Options): JournalWriter {
  const listeners = new Set<WrittenListener>();
  let failing = false;
  let closed = false;
  let timer: NodeJS.Timeout | null = null;
  let draining: Promise<boolean> | null = null;
  let syncing: Promise<void> | null = null;

  const scheduleDrain = () => {
    if (timer || draining || closed) return;
    timer = setTimeout(() => void startDrain(), failing ? RETRY_MS : BATCH_MS);
  };

  const startDrain = (): Promise<boolean> => {
    if (timer) clearTimeout(timer);
    timer = null;
    draining ??= drain().finally(() => {
      draining = null;
      if (blocks.pending > 0) scheduleDrain();
    });
    return draining;
  };

  /** Writes the full blocks, and those that fill up meanwhile. False when the disk refuses; then all of it stays for the next attempt. */
  const drain = async (): Promise<boolean> => {
    if (blocks.full.length === 0) sealFilling(blocks); // not on each attempt of an outage: each would use up a block
    while (blocks.full.length > 0) {
      const batch = blocks.full.slice(0, BLOCKS_A_WRITE);
      try {
        await tail.append(batch.map((block) => block.bytes.subarray(0, block.used)));
      } catch (error) {
        failing = true;
        reportError('Cannot write the journal: the disk refuses', codeOf(error));
        return false;
      }
      const ended = dropWritten(blocks, batch.length);
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
    for (const target = blocks.appended; blocks.written < target; ) if (!(await startDrain())) return;
  };

  const syncTimer = setInterval(() => {
    syncing ??= tail
      .sync()
      .catch((error) => reportError('Cannot sync the journal: the disk refuses', codeOf(error)))
      .finally(() => {
        syncing = null;
      });
  }, SYNC_MS).unref();

  return {
    added: () => {
      if (blocks.full.length > 0 && !failing) void startDrain();
      else scheduleDrain();
    },
    failing: () => failing,
    flush,
    onWritten: (listener) => {
      listeners.add(listener);
      notify(listener, false);
      return () => listeners.delete(listener);
    },
    close: async () => {
      closed = true;
      await flush();
      if (timer) clearTimeout(timer);
      clearInterval(syncTimer);
      if (blocks.pending > 0)
        log.error({ lost_bytes: blocks.pending }, 'Cannot write the journal to its end: the disk refuses');
      await syncing;
      await tail.close();
    },
  };
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;
