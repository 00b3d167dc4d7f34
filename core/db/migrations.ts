/** The files of `migrations/`, each with its checksum. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../package-root.ts';

export type SchemaMigration = { name: string; text: string; sha256: string };

/** In the order of their names. */
export async function readMigrations(folder = join(packageRoot(), 'migrations')): Promise<SchemaMigration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(folder, name), 'utf8');
      return { name, text, sha256: createHash('sha256').update(text).digest('hex') };
    }),
  );
}
