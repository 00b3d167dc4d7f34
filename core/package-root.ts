/** The root of files that no compiler copies (migrations, contracts, web assets): the folder that holds package.json. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The package's folder, from source and from `dist` alike. */
export function packageRoot(): string {
  const above = (folder: string): string => {
    if (existsSync(join(folder, 'package.json'))) return folder;
    if (dirname(folder) === folder) throw new Error('Cannot find the package: no package.json above this file');
    return above(dirname(folder));
  };
  return above(dirname(fileURLToPath(import.meta.url)));
}
