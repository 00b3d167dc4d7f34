/** The configuration file as svc writes it. */
import { dirname } from 'node:path';
import { replaceFile } from '../../config/replace-file.ts';
import { prepareServiceFolder } from '../../config/service-folder.ts';
import type { Io } from '../io.ts';

/**
 * Writes the configuration file. One that others can read is no place for a secret, so it is for this user alone from then on, which is shown.
 * @param isSecret a secret is among what is written
 * @throws {OperatorError} it cannot be written
 */
export function writeSettings(file: string, text: string, isSecret: boolean, io: Pick<Io, 'err'>): void {
  prepareServiceFolder(dirname(file));
  if (replaceFile(file, text, { isSecret }))
    io.err(`Others could read ${file}; now that a secret is in it, only you can\n`);
}
