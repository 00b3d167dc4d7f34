/** The folder of the embedded database, whether it is complete, and whether this user may use it. */
import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../errors.ts';

/**
 * `making` marks that the database in `data` is being created: one whose creation was interrupted is created anew. `copying` is what will
 * be `data` once the copy of the template is complete.
 */
export const dataFolder = (folder: string) => ({
  data: join(folder, 'data'),
  making: join(folder, 'data.making'),
  copying: join(folder, 'data.copying'),
});

export function isMade(folder: string): boolean {
  const { data, making } = dataFolder(folder);
  return existsSync(join(data, 'PG_VERSION')) && !existsSync(making);
}

/** PGlite would fail at it without a word that helps. @throws {OperatorError} there is a database, and this user may not read and write it */
export function refuseUnusable(folder: string): void {
  const { data } = dataFolder(folder);
  if (whyUnusable(folder) !== null) return; // whoever locks the folder says so
  for (const path of [data, join(data, 'base'), join(data, 'PG_VERSION')]) {
    const code = whyUnusable(path);
    if (code === 'ENOENT' || code === 'ENOTDIR') return; // none yet, or what is wrong shows when it is opened
    if (code !== null)
      throw new OperatorError(`Cannot open the embedded database: this user cannot read and write '${path}' (${code})`);
  }
}

/** The code of the error; null: it can be read and written. */
function whyUnusable(path: string): string | null {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown';
  }
}
