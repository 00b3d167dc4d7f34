/** Writes a file of the user's own in one step, so that whoever reads it sees the old text or the new one. */
import {
  closeSync,
  fchmodSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { OperatorError } from '../errors.ts';

/**
 * A new file is for this user alone; an existing one keeps its mode, and where a link leads to it, the link stays.
 * @param options `isSecret`: an existing file that others can read is for this user alone from then on
 * @returns whether that took anything away from others
 * @throws {OperatorError} it cannot be written
 */
export function replaceFile(path: string, text: string, { isSecret = false } = {}): boolean {
  let temporary: string | null = null;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const existing = statSync(path, { throwIfNoEntry: false });
    const target = existing ? realpathSync(path) : path;
    temporary = join(dirname(target), `.${basename(target)}.${crypto.randomUUID()}`);
    const mode = existing ? existing.mode & 0o777 : 0o600;
    const isNarrowed = isSecret && process.platform !== 'win32' && (mode & 0o077) !== 0;
    const file = openSync(temporary, 'wx', 0o600);
    try {
      writeFileSync(file, text);
      fchmodSync(file, isNarrowed ? mode & 0o700 : mode);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, target);
    return isNarrowed;
  } catch (error) {
    if (temporary !== null) rmSync(temporary, { force: true });
    throw new OperatorError(`Cannot write '${path}': ${(error as NodeJS.ErrnoException).code}`, 1, { cause: error });
  }
}
