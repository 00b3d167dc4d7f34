/**
 * Durability of the embedded database. PGlite's file system ignores fsync; this one performs it, with one delay: the write-ahead
 * log is flushed within a second rather than at each commit, and always before any other file changes. So a power cut loses at
 * most the last second of commits and never the database; after a checkpoint it loses nothing. Zeros are no change: PostgreSQL
 * writes them where a table grows, before the log says anything of the new page, and takes such a page for an empty one.
 */
import { fsyncSync } from 'node:fs';
import { NodeFS } from '@electric-sql/pglite/nodefs';

const WAL_DELAY_MS = 1000;
const EIO = 29; // Emscripten's number; PostgreSQL panics on it, as it must

type Stream = { path: string; nfd: number };
type Write = (stream: Stream, memory: Int8Array, offset: number, length: number, ...rest: unknown[]) => unknown;
type Change = (...args: unknown[]) => unknown;
export type NodeFiles = {
  stream_ops: { write: Write; close(stream: Stream): void; setattr: Change; fsync?(stream: Stream): number };
  node_ops: { rename: Change; unlink: Change; setattr: Change };
};

/** PGlite's files in a folder of the host. `stop` ends the delayed flushing, once PGlite is closed. @param watch sees the file operations first */
export function durableFiles(folder: string, watch: (files: NodeFiles) => void): { files: NodeFS; stop(): void } {
  let flushLog = () => {};
  const timer = setInterval(() => flushLog(), WAL_DELAY_MS).unref();
  const files = new (class extends NodeFS {
    override async init(...args: Parameters<NodeFS['init']>) {
      const { emscriptenOpts } = await super.init(...args);
      const install = (mod: { FS: unknown }) => {
        const { NODEFS } = (mod.FS as { filesystems: { NODEFS: NodeFiles } }).filesystems;
        watch(NODEFS);
        flushLog = obeyFsync(NODEFS, fsyncSync);
      };
      return { emscriptenOpts: { ...emscriptenOpts, preRun: [...(emscriptenOpts.preRun ?? []), install] } };
    }
  })(folder);
  return { files, stop: () => clearInterval(timer) };
}

/** Replaces the file operations in place. @param fsync flushes a file descriptor @returns flushes the log now */
export function obeyFsync({ stream_ops, node_ops }: NodeFiles, fsync: (fd: number) => void): () => void {
  const unflushed = new Set<Stream>(); // files of the log that are written but not yet flushed
  const flushLog = () => {
    for (const { nfd } of unflushed) fsync(nfd);
    unflushed.clear();
  };
  const withLogFlushed =
    (change: Change): Change =>
    (...args) => {
      flushLog();
      return change(...args);
    };
  const { write, close } = stream_ops;
  stream_ops.write = (stream, memory, offset, length, ...rest) => {
    if (unflushed.size > 0 && !isLog(stream) && !isZeros(memory, offset, length)) flushLog();
    return write(stream, memory, offset, length, ...rest);
  };
  stream_ops.close = (stream) => {
    if (unflushed.delete(stream)) fsync(stream.nfd);
    close(stream);
  };
  stream_ops.fsync = (stream) => {
    try {
      if (isLog(stream)) unflushed.add(stream);
      else {
        flushLog();
        fsync(stream.nfd);
      }
      return 0;
    } catch {
      return EIO;
    }
  };
  stream_ops.setattr = withLogFlushed(stream_ops.setattr);
  node_ops.setattr = withLogFlushed(node_ops.setattr);
  node_ops.rename = withLogFlushed(node_ops.rename);
  node_ops.unlink = withLogFlushed(node_ops.unlink);
  return flushLog;
}

export const isLog = ({ path }: Pick<Stream, 'path'>) => /\/pg_wal\/[0-9A-F]{24}$/.test(path);

const PAGE = Buffer.alloc(8_192);

const isZeros = (memory: Int8Array, offset: number, length: number): boolean =>
  length <= PAGE.length &&
  PAGE.compare(new Uint8Array(memory.buffer, memory.byteOffset + offset, length), 0, length, 0, length) === 0;
