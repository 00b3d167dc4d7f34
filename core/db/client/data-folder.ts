/** Where does the embedded database lie, and is it whole? */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** `making` stands beside `data` while a database is made: one whose making was cut short is made anew. */
export const dataFolder = (folder: string) => ({ data: join(folder, 'data'), making: join(folder, 'data.making') });

export function isMade(folder: string): boolean {
  const { data, making } = dataFolder(folder);
  return existsSync(join(data, 'PG_VERSION')) && !existsSync(making);
}
