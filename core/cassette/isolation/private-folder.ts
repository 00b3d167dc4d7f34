/** Folders of the service for a process of a cassette: each in the private folder, which is made again where something removed it. */
import { lstat, mkdir, mkdtemp, rmdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * A new empty folder in `tmp`, whose name begins with `prefix`. `tmp` may be gone: systemd-tmpfiles removes from /tmp what nothing has
 * changed for ten days. @returns its path @throws {Error} somebody else has made `tmp` meanwhile
 */
export async function privateFolder(tmp: string, prefix: string): Promise<string> {
  await mkdir(tmp, { recursive: true, mode: 0o700 });
  const made = await mkdtemp(join(tmp, prefix));
  const [around, own] = await Promise.all([lstat(tmp), lstat(made)]); // some file systems give all files one owner
  if (around.uid === own.uid) return made;
  await rmdir(made);
  throw new Error(`"${tmp}" belongs to another user`);
}
