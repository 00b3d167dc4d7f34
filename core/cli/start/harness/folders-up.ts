/** The folders in which a program looks for files of a project. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The folder and those around it: to the root of its repository, or of the file system where it is in none. The innermost first. */
export function foldersInRepository(cwd: string): string[] {
  const folders = [cwd];
  for (let folder = cwd; !existsSync(join(folder, '.git')) && dirname(folder) !== folder; ) {
    folder = dirname(folder);
    folders.push(folder);
  }
  return folders;
}
