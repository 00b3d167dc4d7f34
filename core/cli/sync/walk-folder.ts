/** Lists the files below a folder one by one, without following links and without holding the list; a folder that cannot be read is listed too. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { FoundTranscript } from './transcript-source.ts';

/** @param isWanted by the path below the folder, with `/` between @param depth folders below that are entered */
export async function* filesBelow(
  folder: string,
  isWanted: (path: string) => boolean,
  depth = 8,
  below = '',
): AsyncGenerator<FoundTranscript> {
  const entries = await readdir(join(folder, below), { withFileTypes: true }).catch(
    (error: NodeJS.ErrnoException) => error,
  );
  if (entries instanceof Error) {
    const isThere = entries.code !== 'ENOENT' && entries.code !== 'ENOTDIR';
    if (isThere)
      yield { path: join(folder, below), bytes: 0, mtimeMs: Date.now(), unreadable: entries.code ?? 'unknown error' };
    return;
  }
  for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory() && depth > 0) yield* filesBelow(folder, isWanted, depth - 1, path);
    else if (entry.isFile() && isWanted(path)) {
      const absolute = join(folder, path);
      const at = await stat(absolute).catch(() => null); // deleted meanwhile
      if (at) yield { path: absolute, bytes: at.size, mtimeMs: at.mtimeMs };
    }
  }
}
