/** The folder `.svc` as svc makes it: kept out of git, since recordings and keys are in it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../../config/replace-file.ts';

/** Makes the folder where it is missing, with a .gitignore that excludes all of it. @throws {OperatorError} it cannot be written */
export function prepareSettingsFolder(folder: string): void {
  const ignore = join(folder, '.gitignore');
  if (!existsSync(ignore)) replaceFile(ignore, '*\n');
}
