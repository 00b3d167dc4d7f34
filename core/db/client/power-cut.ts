/**
 * How does the embedded database survive a power cut? PGlite's file system ignores fsync; this one obeys, but for one delay: the
 * write-ahead log is flushed within a second rather than at each commit, and always before anything else changes. So a power
 * cut costs at most the last second of commits and never the database; a checkpoint leaves nothing to lose.
 */
import { fsyncSync } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { NodeFS } from '@electric-sql/pglite/nodefs';

const WAL_DELAY_MS = 1000;
const EIO = 29; // as Emscripten numbers it; PostgreSQL then panics, as it must

type Stream = { path: string; nfd: number };
type Change = (...args: unknown[]) => unknown;
export type NodeFiles = {
  stream_ops: { write: Change; close(stream: Stream): void; setattr: Change; fsync?(stream: Stream): number };
  node_ops: { rename: Change; unlink: Change; setattr: Change };
};

/** PGlite's files under a folder of the host. `stop` ends the delayed flushing, once PGlite is closed. */
export function durableFiles(folder: string): { files: NodeFS; stop(): void } {
  let flushLog = () => {};
  const timer = setInterval(() => flushLog(), WAL_DELAY_MS).unref();
  const files = new (class extends NodeFS {
    override async init(...args: Parameters<NodeFS['init']>) {
      const { emscriptenOpts } = await super.init(...args);
      const obey = (mod: { FS: unknown }) => {
        const { NODEFS } = (mod.FS as { filesystems: { NODEFS: NodeFiles } }).filesystems;
        flushLog = obeyFsync(NODEFS, fsyncSync);
      };
      return { emscriptenOpts: { ...emscriptenOpts, preRun: [...(emscriptenOpts.preRun ?? []), obey] } };
    }
  })(folder);
  return { files, stop: () => clearInterval(timer) };
}

/** Flushes all files and folders below one, and itself: for files that came without fsync, a new database's. */
export async function flushTree(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = [folder, ...entries.map((entry) => join(entry.parentPath, entry.name))];
  const flushNext = async (): Promise<void> => {
    for (let path = paths.pop(); path !== undefined; path = paths.pop()) {
      const handle = await open(path, 'r');
      await handle.sync().finally(() => handle.close());
    }
  };
  await Promise.all(Array.from({ length: 8 }, flushNext));
}

/** Changes the operations in place. @param fsync of a file descriptor @returns what flushes the log now */
export function obeyFsync({ stream_ops, node_ops }: NodeFiles, fsync: (fd: number) => void): () => void {
  const late = new Set<Stream>(); // files of the log, written and not yet flushed
  const flushLog = () => {
    for (const { nfd } of late) fsync(nfd);
    late.clear();
  };
  const afterTheLog =
    (change: Change): Change =>
    (...args) => {
      flushLog();
      return change(...args);
    };
  const { write, close } = stream_ops;
  stream_ops.write = (...args) => {
    if (!isLog(args[0] as Stream)) flushLog();
    return write(...args);
  };
  stream_ops.close = (stream) => {
    if (late.delete(stream)) fsync(stream.nfd);
    close(stream);
  };
  stream_ops.fsync = (stream) => {
    try {
      if (isLog(stream)) late.add(stream);
      else {
        flushLog();
        fsync(stream.nfd);
      }
      return 0;
    } catch {
      return EIO;
    }
  };
  stream_ops.setattr = afterTheLog(stream_ops.setattr);
  node_ops.setattr = afterTheLog(node_ops.setattr);
  node_ops.rename = afterTheLog(node_ops.rename);
  node_ops.unlink = afterTheLog(node_ops.unlink);
  return flushLog;
}

const isLog = ({ path }: Stream) => /\/pg_wal\/[0-9A-F]{24}$/.test(path);
