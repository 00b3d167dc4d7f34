/** How much room is left on the disk of a folder. */
import { statfs } from 'node:fs/promises';

/** For whoever is not root; null: the system does not say. */
export async function freeBytes(folder: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch {
    return null;
  }
}
