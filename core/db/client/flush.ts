/** Brings to the disk what was written without fsync: the files of a new database. */
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Flushes a folder with all files and folders below it. */
export async function flushTree(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = [folder, ...entries.map((entry) => join(entry.parentPath, entry.name))];
  const flushNext = async (): Promise<void> => {
    for (let path = paths.pop(); path !== undefined; path = paths.pop()) {
      const handle = await open(path, 'r');
      await handle.sync().finally(() => handle.close());
    }
  };
  await Promise.all(Array.from({ length: 8 }, flushNext));
}

/** Flushes the names in a folder, not what is below it. */
export async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  await handle.sync().finally(() => handle.close());
}
