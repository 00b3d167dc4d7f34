/** The most that a journal takes on disk: as configured, unless its volume is smaller. */
import { statfs } from 'node:fs/promises';

/** What is left holds open calls that are carried forward, and whatever else is on the volume. */
const USED = 0.9;

/**
 * A journal that its own volume stops, before its limit does, may never write again: the segments hold open calls whose ends find no room.
 * @param maxBytes as configured @returns bytes; less than `maxBytes` where the whole volume could not hold that much
 */
export async function journalLimit(folder: string, maxBytes: number): Promise<number> {
  const size = await statfs(folder).then(
    ({ blocks, bsize }) => blocks * bsize,
    () => 0, // opening the journal says why
  );
  return size > 0 ? Math.min(maxBytes, Math.floor(size * USED)) : maxBytes; // some file systems do not say
}
