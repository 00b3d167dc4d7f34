/** The configuration file as svc writes it, in a folder `.svc` that is kept out of git, since recordings and keys are in it. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { replaceFile } from '../../config/replace-file.ts';
import type { Io } from '../io.ts';

/**
 * Writes the configuration file. One that others can read is no place for a secret, so it is for this user alone from then on, which is shown.
 * @param isSecret a secret is among what is written
 * @throws {OperatorError} it cannot be written
 */
export function writeSettings(file: string, text: string, isSecret: boolean, io: Pick<Io, 'err'>): void {
  prepareSettingsFolder(dirname(file));
  if (replaceFile(file, text, { isSecret }))
    io.err(`Others could read ${file}; now that a secret is in it, only you can\n`);
}

/** Makes the folder where it is missing, with a .gitignore that excludes all of it. @throws {OperatorError} it cannot be written */
function prepareSettingsFolder(folder: string): void {
  const ignore = join(folder, '.gitignore');
  if (!existsSync(ignore)) replaceFile(ignore, '*\n');
}
