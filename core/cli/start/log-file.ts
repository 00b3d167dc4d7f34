/** The log of the shared service: a file that its processes append to, and a few older ones. */
import { chmodSync, copyFileSync, openSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';

const MOST_BYTES = 5_000_000;
const OLDER = 3;

export const logIn = (svcFolder: string): string => join(svcFolder, 'service.log');

/** A descriptor that appends to the log, for a service that is about to start. @throws the file cannot be written */
export function openLogFile(svcFolder: string): number {
  rotateLog(svcFolder);
  const fd = openSync(logIn(svcFolder), 'a', 0o600);
  chmodSync(logIn(svcFolder), 0o600);
  return fd;
}

/**
 * Moves what the log holds into an older file, once it is large enough. The file itself stays: several processes have it open, and go on at
 * its new end. What one of them writes between copy and cut is lost.
 */
export function rotateLog(svcFolder: string, mostBytes = MOST_BYTES): void {
  const path = logIn(svcFolder);
  try {
    if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) < mostBytes) return;
    rmSync(`${path}.${OLDER}`, { force: true });
    for (let age = OLDER - 1; age >= 1; age--) {
      if (statSync(`${path}.${age}`, { throwIfNoEntry: false })) renameSync(`${path}.${age}`, `${path}.${age + 1}`);
    }
    copyFileSync(path, `${path}.1`);
    chmodSync(`${path}.1`, 0o600);
    truncateSync(path);
  } catch {} // the disk is full: the log grows until there is room
}
