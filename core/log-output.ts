/** Stderr as the operators' log writes to it, a line at a time: what cannot be written is dropped, since a log must end nothing. */
import { writeSync } from 'node:fs';

/** What pino needs of a destination. */
export type LogOutput = { write(line: string): void };

/** The terminal was closed, or the reader of the pipe is gone: neither comes back. */
const GONE = new Set(['EIO', 'EPIPE']);
const BUSY = new Set(['EAGAIN', 'EBUSY']); // a pipe that is full
const BUSY_MS = 100;
const NEWLINE = 0x0a;

/**
 * Pino's own destination keeps what a full disk refuses in memory, line by line, tries it again, and reports an error for each.
 * @returns an output that writes at once and throws nothing. After a refusal for want of room the next line is tried again
 */
export function openLogOutput(fd: number): LogOutput {
  let gone = false;
  let torn = false; // the disk became full in the middle of a line
  return {
    write: (line) => {
      if (gone) return;
      const bytes = Buffer.from(torn ? `\n${line}` : line);
      const { written, code } = writeAll(fd, bytes);
      gone = GONE.has(code);
      if (written > 0) torn = bytes[written - 1] !== NEWLINE;
    },
  };
}

/** `code`: of the error that ended it, '' for none. */
function writeAll(fd: number, bytes: Buffer): { written: number; code: string } {
  let written = 0;
  while (written < bytes.length) {
    try {
      written += writeSync(fd, bytes, written);
    } catch (error) {
      const { code = 'unknown' } = error as NodeJS.ErrnoException;
      if (!BUSY.has(code)) return { written, code };
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_MS);
    }
  }
  return { written, code: '' };
}
