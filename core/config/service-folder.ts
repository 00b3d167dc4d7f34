/** The folder `.svc` as it is made: for this user alone, and kept out of git, since recordings and keys are in it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Makes the folder (0700) where it is missing, and in it a .gitignore that excludes all of it. An existing .gitignore, or a link of that
 * name, stays as it is. A failure is none of the command's: what cannot be written shows with what is written next.
 */
export function prepareServiceFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, '.gitignore'), '*\n', { flag: 'wx', mode: 0o600 });
  } catch {} // mostly: it exists
}
