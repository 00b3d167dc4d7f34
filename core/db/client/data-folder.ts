/** The folder of the embedded database, and whether it is complete. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

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
