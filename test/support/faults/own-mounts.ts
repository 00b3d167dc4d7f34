/** A disk that is really full: a small file system of its own, mounted where only this process and its children see it. */
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const MARK = 'SVC_TEST_OWN_MOUNTS';
const UNSHARE = 'unshare'; // of util-linux
const BLOCK = Buffer.alloc(65_536);

/**
 * Runs the program that calls it again, with the same arguments, where mounts are its own: they go away with it, whatever happens to it.
 * @returns null once it is so; else the status of that other run; or why it cannot be
 */
export function inOwnMounts(): null | number | string {
  if (process.env[MARK]) return null;
  const unshare = process.getuid?.() === 0 ? ['-m'] : ['-rm']; // a user that is not root is root in there
  const tried = spawnSync(UNSHARE, [...unshare, 'mount', '-t', 'tmpfs', 'tmpfs', '/tmp'], { encoding: 'utf8' });
  if (tried.status !== 0) return `no file system can be mounted: ${tried.error?.message ?? tried.stderr.trim()}`;
  const again = [...unshare, process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const { status } = spawnSync(UNSHARE, again, { stdio: 'inherit', env: { ...process.env, [MARK]: '1' } });
  return status ?? 1;
}

export type SmallDisk = {
  /** Fills the disk. */
  fill(): void;
  /** Frees the space again. */
  free(): void;
  unmount(): Promise<void>;
};

/** Mounts a disk on an empty folder. */
export function smallDisk(folder: string, bytes: number): SmallDisk {
  const ballast = join(folder, 'ballast');
  mounted(['mount', '-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', folder]);
  return {
    fill() {
      const file = openSync(ballast, 'a');
      try {
        for (;;) writeSync(file, BLOCK.subarray(0, statfsSync(folder).bavail > 16 ? BLOCK.length : 4096));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      } finally {
        closeSync(file);
      }
    },
    free: () => rmSync(ballast, { force: true }),
    unmount: async () => mounted(['umount', '-l', folder]),
  };
}

function mounted([program = '', ...args]: readonly string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`Cannot ${program}: ${stderr.trim()}`);
}
