/** With which key are clients' credentials hashed while the database, which has it, may be away? With the one that it told last. */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../log.ts';

export type IdentityKey = {
  current: () => Uint8Array;
  /** The database has told its key, in hex: it holds from now on, and at the next start. null: it cannot be asked for now. */
  learn: (identity_key: string | null) => void;
  /** Settles once there is a key to go by: at once where one is kept, else when the database has told one, or cannot. */
  known: Promise<void>;
};

const FORM = /^[0-9a-f]{64}$/;
const FIRST_MS = 5_000; // that a start may be held up, where no key is kept

/**
 * Kept in the folder, for its owner alone. Where no database has ever told one, a key of this process's own holds until then: a
 * conversation that only its messages and its client tell from others does not go on across that moment.
 */
export async function openIdentityKey(folder: string, log: Logger): Promise<IdentityKey> {
  const path = join(folder, 'identity-key');
  const keep = async (hex: string) => {
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await writeFile(`${path}.new`, hex, { mode: 0o600 });
      await rename(`${path}.new`, path); // whole or not at all
    } catch (error) {
      log.warn({ code: (error as NodeJS.ErrnoException).code }, 'Cannot keep the identity key: the disk refuses');
    }
  };
  const kept = (await readFile(path, 'utf8').catch(() => '')).trim();
  let hex = FORM.test(kept) ? kept : '';
  let key = hex === '' ? randomBytes(32) : Buffer.from(hex, 'hex');
  let settle = () => {};
  const known = new Promise<void>((done) => {
    settle = done;
  });
  if (hex === '') setTimeout(settle, FIRST_MS).unref();
  else settle();
  return {
    current: () => key,
    learn: (told) => {
      settle();
      if (told === null || told === hex) return;
      hex = told;
      key = Buffer.from(told, 'hex');
      void keep(told);
    },
    known,
  };
}
