/** The key with which clients' credentials are hashed. The database has it, and may be away: the last one that it gave is stored here. */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../log.ts';

export type IdentityKey = {
  current: () => Uint8Array;
  /** Sets the database's key, in hex, from now on and for the next start. null: the database cannot be reached now. */
  learn: (identity_key: string | null) => void;
  /** Settles once there is a key: at once where one is stored, else when the database has given one, or cannot. */
  known: Promise<void>;
};

const FILE = 'identity-key';
const FORM = /^[0-9a-f]{64}$/;
const FIRST_MS = 5_000; // how long a start may wait for the key, where none is stored

/** The key that was stored last, in hex; null: there is none. */
export async function storedIdentityKey(folder: string): Promise<string | null> {
  const stored = (await readFile(join(folder, FILE), 'utf8').catch(() => '')).trim();
  return FORM.test(stored) ? stored : null;
}

/**
 * The key is stored in the folder, readable by its owner only. Until a database has given one, a random key of this process is used: a
 * conversation that is recognised only by its messages and its client does not continue when the key changes.
 * @param isNew no database has a key yet: this one is stored, and the database that is made beside will take it
 */
export async function openIdentityKey(folder: string, log: Logger, isNew = false): Promise<IdentityKey> {
  const path = join(folder, FILE);
  const store = async (hex: string) => {
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await writeFile(`${path}.new`, hex, { mode: 0o600 });
      await rename(`${path}.new`, path); // atomic
    } catch (error) {
      log.warn({ code: (error as NodeJS.ErrnoException).code }, 'Cannot keep the identity key: the disk refuses');
    }
  };
  let hex = (await storedIdentityKey(folder)) ?? '';
  let key = hex === '' ? randomBytes(32) : Buffer.from(hex, 'hex');
  if (hex === '' && isNew) {
    hex = key.toString('hex');
    await store(hex);
  }
  let settle = () => {};
  const known = new Promise<void>((done) => {
    settle = done;
  });
  if (hex === '') setTimeout(settle, FIRST_MS).unref();
  else settle();
  return {
    current: () => key,
    learn: (reported) => {
      settle();
      if (reported === null || reported === hex) return;
      hex = reported;
      key = Buffer.from(reported, 'hex');
      void store(reported);
    },
    known,
  };
}
