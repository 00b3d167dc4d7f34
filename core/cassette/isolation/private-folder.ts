/** Folders of the service for a process of a cassette: each in the private folder, which is made again where something removed it. */
import { lstat, mkdir, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * A new empty folder in `tmp`, whose name begins with `prefix`. `tmp` may be gone: systemd-tmpfiles removes from /tmp what nothing has
 * changed for ten days. @returns its path @throws {Error} somebody else has made `tmp` meanwhile
 */
export async function privateFolder(tmp: string, prefix: string): Promise<string> {
  await mkdir(tmp, { recursive: true, mode: 0o700 });
  const { uid } = await lstat(tmp);
  if (process.getuid && uid !== process.getuid()) throw new Error(`"${tmp}" belongs to another user`);
  return mkdtemp(join(tmp, prefix));
}
