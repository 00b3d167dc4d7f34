/** The key with which version 0.1 hashed clients before they were in the journal, as that version stored it in the folder. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** null: that version has not run in this folder. */
export async function formerKeyOf(folder: string): Promise<Uint8Array | null> {
  const stored = (await readFile(join(folder, 'identity-key'), 'utf8').catch(() => '')).trim();
  return /^[0-9a-f]{64}$/.test(stored) ? Buffer.from(stored, 'hex') : null;
}
