/** Which configuration file is in effect, and which one a command writes. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { configFile, folderInEffect } from '../../config/load.ts';
import type { Io } from '../io.ts';

type Folders = Pick<Io, 'cwd' | 'home'>;

const fileIn = (folder: string) => join(folder, '.svc', 'config.toml');

/** `path` is that of the home folder with `isHome`, else of the file in effect, else of the one that would be made in the folder in effect. */
export function fileToWrite({ cwd, home }: Folders, isHome: boolean): { path: string; exists: boolean } {
  const path = isHome ? fileIn(home) : (configFile(cwd, home) ?? join(folderInEffect(cwd, home), 'config.toml'));
  return { path, exists: existsSync(path) };
}

/** The file that is read instead of `path`; null: none is, or it is `path` itself. */
export function outranking({ cwd, home }: Folders, path: string): string | null {
  const inEffect = configFile(cwd, home);
  return inEffect === path ? null : inEffect;
}
